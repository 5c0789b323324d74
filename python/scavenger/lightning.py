"""Trains a LightningModule as a Scavenger job: `scavenger.lightning.fit(module, train_dataset, ...)`.

The module's `configure_optimizers`, `training_step` and `validation_step` are called, with its
`on_fit_start` and `on_fit_end`. The Trainer of Lightning, which has a loop and checkpoints of its
own, takes no part.
"""

from __future__ import annotations

from typing import Any, Callable, List, Mapping, Optional

import torch

from scavenger import script
from scavenger.problems import UserError


def _optimizer_of(module: Any) -> torch.optim.Optimizer:
    found = module.configure_optimizers()
    if isinstance(found, Mapping) and set(found) == {"optimizer"}:
        found = found["optimizer"]
    if isinstance(found, (list, tuple)) and len(found) == 1:
        found = found[0]
    if not isinstance(found, torch.optim.Optimizer):
        raise UserError(f"configure_optimizers() returned {type(found).__name__}", "",
                        "return one optimizer; fit(schedule=...) changes its learning rate")
    return found


def _loss_of(answer: Any, function: str) -> torch.Tensor:
    loss = answer["loss"] if isinstance(answer, Mapping) and "loss" in answer else answer
    if not isinstance(loss, torch.Tensor):
        raise UserError(f"{function}() returned {type(answer).__name__}", "",
                        'return the mean loss, or a dictionary with "loss"')
    return loss


def fit(module: Any, train_dataset: Any, val_dataset: Any = None, *,
        batch_size: Optional[int] = None, epochs: Optional[float] = None,
        max_iterations: Optional[int] = None,
        collate_fn: Optional[Callable[[List[Any]], Any]] = None,
        clip_norm: Optional[float] = None,
        schedule: Optional[Mapping[str, Any]] = None) -> None:
    """Train the module until the job ends; the arguments are those of prepare() and loader().

    `val_dataset` is judged by validation_step(), which returns the mean loss. `batch_idx` of both
    steps is 0 in a validation, and scavenger.iteration in the training.
    """
    script.prepare(module, _optimizer_of(module), clip_norm=clip_norm, schedule=schedule)
    if val_dataset is not None:
        script.evaluate(lambda batch: _loss_of(module.validation_step(batch, 0), "validation_step"),
                        val_dataset, batch_size, collate_fn)
    batches = script.loader(train_dataset, batch_size, collate_fn, epochs=epochs,
                            max_iterations=max_iterations)
    module.on_fit_start()
    for batch in batches:
        answer = module.training_step(batch, int(script.place_value("iteration")))
        script.step(_loss_of(answer, "training_step"))
    module.on_fit_end()
