"""The settings of an optimizer of torch.optim, as a configuration has them."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence

import torch

from scavenger.problems import UserError

# Settings that change what a step does, and that the parameter server's steps do not have.
NOT_OFFERED = ("amsgrad", "maximize", "differentiable")


def _kind_of(optimizer: Any) -> Optional[str]:
    found = type(optimizer)
    if found is torch.optim.SGD:
        return "sgd"
    if found is torch.optim.AdamW:
        return "adamw"
    if found is torch.optim.Adam:
        decoupled = optimizer.param_groups[0].get("decoupled_weight_decay", False)
        return "adamw" if decoupled else "adam"
    return None


def _settings_of(kind: str, group: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    if any(group.get(name) for name in NOT_OFFERED) or not float(group["lr"]) > 0.0:
        return None
    found: Dict[str, Any] = {"type": kind, "learning_rate": float(group["lr"]),
                             "weight_decay": float(group["weight_decay"])}
    if kind == "sgd":
        found.update(momentum=float(group["momentum"]), dampening=float(group["dampening"]),
                     nesterov=bool(group["nesterov"]))
    else:
        found.update(beta1=float(group["betas"][0]), beta2=float(group["betas"][1]),
                     epsilon=float(group["eps"]))
    return found


def settings_of(optimizer: torch.optim.Optimizer,
                parameters: Sequence[torch.nn.Parameter]) -> Optional[Dict[str, Any]]:
    """Return the section `optimizer`: what the shards step these parameters with.

    Returns None if the optimizer does something else than the shards can do: then workers step it
    (stepped_here.py).
    """
    kind = _kind_of(optimizer)
    if kind is None:
        return None
    ours = {id(parameter) for parameter in parameters}
    found: Optional[Dict[str, Any]] = None
    for group in optimizer.param_groups:
        if not any(id(one) in ours for one in group["params"]):
            continue
        settings = _settings_of(kind, group)
        if settings is None or found not in (None, settings):
            return None
        found = settings
    return found


def require_trainable(optimizer: Any, names: Sequence[str],
                      parameters: Sequence[torch.nn.Parameter], place: str) -> None:
    """Check that the optimizer is a new one that trains all of these parameters.

    `place` is where the user gave it.
    """
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise UserError(f"{type(optimizer).__name__} is no optimizer", place,
                        "use one of torch.optim, or a class that is derived from its Optimizer")
    if any(_is_used(values) for values in optimizer.state.values()):
        raise UserError("the optimizer has state of earlier steps", place,
                        "make a new one: Scavenger's checkpoints keep its state")
    stepped = {id(one) for group in optimizer.param_groups for one in group["params"]}
    for name, parameter in zip(names, parameters):
        if id(parameter) not in stepped:
            raise UserError(f"the optimizer does not have parameter {name}", place,
                            "add it, or freeze it (requires_grad = False)")


def _is_used(values: Any) -> bool:
    """Return whether state is of an earlier step. Adagrad makes its state before the first one."""
    return not isinstance(values, Mapping) or float(values.get("step", 1.0)) != 0.0


def require_no_others(optimizer: torch.optim.Optimizer, parameters: Sequence[torch.nn.Parameter],
                      place: str) -> None:
    """Check that the optimizer trains no parameter beside these."""
    known = {id(parameter) for parameter in parameters}
    for group in optimizer.param_groups:
        if any(one.requires_grad and id(one) not in known for one in group["params"]):
            raise UserError("the optimizer has parameters that are not of the model", place,
                            "prepare one module that holds all of them")
