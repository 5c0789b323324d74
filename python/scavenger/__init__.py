"""Train a PyTorch model of one's own with Scavenger: elastic data parallelism.

The Python file of a model defines `make_model()` and `loss(model, batch)`; docs/python.md of the
project describes them. `scavenger-train` runs the file with `"model": {"type": "python", "file":
"train.py"}`, and starts this package's worker for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__version__ = "0.1.0"


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


__all__ = ["Batch", "check", "__version__"]
