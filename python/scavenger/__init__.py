"""Train a PyTorch model of one's own with Scavenger: elastic data parallelism.

There are two ways, which docs/python.md and docs/python_loop.md of the project describe. A file
with `make_model()` and `loss(model, batch)` is named by a configuration: `"model": {"type":
"python", "file": "train.py"}`. Or a script keeps its own loop:

    scavenger.prepare(model, optimizer)
    for batch in scavenger.loader(dataset, batch_size=64, epochs=3):
        scavenger.step(loss_of(model, batch))

and `scavenger-train train.py --workers 4` runs it.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from scavenger.launching import Run, run
    from scavenger.script import evaluate, loader, log, prepare, step

    # Of the iteration whose batch the loop has: its number from 0, this worker's rank, the number
    # of workers, and the epochs that the job had done before it.
    iteration: int
    rank: int
    workers: int
    epoch: float
    # Where this worker computes: model.to(scavenger.device), and each batch as well.
    device: torch.device

__version__ = "0.1.0"

# Loaded when they are used: what only names a batch or a version does not load PyTorch.
_FUNCTIONS = {"prepare": "script", "loader": "script", "step": "script", "evaluate": "script",
              "log": "script", "run": "launching", "Run": "launching"}
_PLACES = ("iteration", "rank", "workers", "epoch")


class Batch(NamedTuple):
    """A batch of one of Scavenger's own data formats: tensors whose first dimension is samples.

    `inputs` are features or tokens; `targets` are labels, values or tokens. Both are valid until
    the function that got them returns. Inputs of text that a tokenizer of Hugging Face has read are
    a dictionary of tensors: model(**inputs).
    """

    inputs: Any
    targets: "torch.Tensor"


def check(path: str) -> None:
    """Load a model's file as a job would, make its model once, and print what was found."""
    from scavenger import inspection

    inspection.print_summary(path)


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"scavenger.{_FUNCTIONS[name]}"), name)
    if name in _PLACES:
        from scavenger import script

        return script.place_value(name)
    if name == "device":
        from scavenger import script

        return script.the_script.device
    raise AttributeError(f"module {__name__} has no attribute {name}")


__all__ = ["Batch", "Run", "check", "evaluate", "loader", "log", "prepare", "run", "step",
           "__version__"]
