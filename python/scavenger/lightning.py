"""Trains a LightningModule as a Scavenger job: `scavenger.lightning.fit(module, train_dataset, ...)`.

The module's `configure_optimizers`, `training_step` and `validation_step` are called, with its
`on_fit_start` and `on_fit_end`. The Trainer of Lightning, which has a loop and checkpoints of its
own, takes no part.
"""

from __future__ import annotations

from typing import Any, Callable, List, Mapping, Optional, Tuple

import torch

from scavenger import script
from scavenger.optimizers.stepped_here import scheduler_of
from scavenger.problems import UserError


def _optimizer_of(module: Any) -> Tuple[torch.optim.Optimizer, Any, str]:
    """Return the module's optimizer, its scheduler and that one's interval."""
    found: Any = module.configure_optimizers()
    scheduler: Any = None
    if isinstance(found, Mapping) and "optimizer" in found:
        found, scheduler = found["optimizer"], found.get("lr_scheduler")
    elif (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], (list, tuple))):
        found, schedulers = found
        if len(schedulers) > 1:
            raise UserError("configure_optimizers() returned several schedulers", "",
                            "join them by torch.optim.lr_scheduler.SequentialLR")
        scheduler = schedulers[0] if schedulers else None
    if isinstance(found, (list, tuple)) and len(found) == 1:
        found = found[0]
    if not isinstance(found, torch.optim.Optimizer):
        raise UserError(f"configure_optimizers() returned {type(found).__name__}", "",
                        "return one optimizer, or a dictionary with it and its lr_scheduler")
    if scheduler is None:
        return found, None, "iteration"
    if not isinstance(scheduler, Mapping):  # as Lightning has it
        return found, scheduler, "epoch"
    return found, *scheduler_of(scheduler, "configure_optimizers()")


def _require_offered(module: Any) -> None:
    """Check that the module steps nothing in a way of its own. Raises UserError."""
    for name in ("optimizer_step", "lr_scheduler_step", "configure_gradient_clipping"):
        method = getattr(type(module), name, None)
        if method is not None and not method.__module__.startswith(("lightning", "pytorch_lightning")):
            raise UserError(f"the module has its own {name}()", type(module).__name__,
                            "leave it out: the job steps optimizer and scheduler; fit() has "
                            "clip_norm")
    if not getattr(module, "automatic_optimization", True):
        raise UserError("the module has automatic_optimization = False", type(module).__name__,
                        "write the loop yourself: docs/python_loop.md")


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
    _require_offered(module)
    module.to(script.the_script.device)
    optimizer, scheduler, interval = _optimizer_of(module)
    script.prepare(module, optimizer, clip_norm=clip_norm, schedule=schedule, scheduler=scheduler,
                   interval=interval)
    if val_dataset is not None:
        def judge(batch: Any) -> torch.Tensor:
            return _loss_of(module.validation_step(script.on_device(batch), 0), "validation_step")

        script.evaluate(judge, val_dataset, batch_size, collate_fn)
    batches = script.loader(train_dataset, batch_size, collate_fn, epochs=epochs,
                            max_iterations=max_iterations)
    module.on_fit_start()
    for batch in batches:
        answer = module.training_step(script.on_device(batch), int(script.place_value("iteration")))
        script.step(_loss_of(answer, "training_step"))
    module.on_fit_end()
