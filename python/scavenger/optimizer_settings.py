"""The settings of an optimizer of torch.optim, as a configuration has them."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence

import torch

from scavenger.problems import UserError

REMEDY = "use torch.optim.SGD, Adam or AdamW: the parameter server steps them"
# Settings that change what a step does, and that Scavenger's steps do not have.
NOT_OFFERED = ("amsgrad", "maximize", "differentiable")


def _kind_of(optimizer: Any, place: str) -> str:
    found = type(optimizer)
    if found is torch.optim.SGD:
        return "sgd"
    if found is torch.optim.AdamW:
        return "adamw"
    if found is torch.optim.Adam:
        decoupled = optimizer.param_groups[0].get("decoupled_weight_decay", False)
        return "adamw" if decoupled else "adam"
    raise UserError(f"{found.__name__} is not an optimizer that the parameter server has", place,
                    REMEDY)


def _settings_of(kind: str, group: Mapping[str, Any], place: str) -> Dict[str, Any]:
    for name in NOT_OFFERED:
        if group.get(name):
            raise UserError(f"the optimizer has {name}=True, which is not offered", place,
                            "leave it out")
    found: Dict[str, Any] = {"type": kind, "learning_rate": float(group["lr"]),
                             "weight_decay": float(group["weight_decay"])}
    if kind == "sgd":
        found.update(momentum=float(group["momentum"]), dampening=float(group["dampening"]),
                     nesterov=bool(group["nesterov"]))
    else:
        found.update(beta1=float(group["betas"][0]), beta2=float(group["betas"][1]),
                     epsilon=float(group["eps"]))
    return found


def settings_of(optimizer: Any, names: Sequence[str], parameters: Sequence[torch.nn.Parameter],
                place: str) -> Dict[str, Any]:
    """Return the section `optimizer`: what the shards step these parameters with.

    `place` is where the user gave the optimizer. Raises UserError if the optimizer does something
    else than the shards can do.
    """
    kind = _kind_of(optimizer, place)
    if optimizer.state:
        raise UserError("the optimizer has state of earlier steps", place,
                        "make a new one: Scavenger's checkpoints keep its state")
    name_of = {id(parameter): name for name, parameter in zip(names, parameters)}
    found: Dict[str, Any] = {}
    first = ""
    stepped = set()
    for group in optimizer.param_groups:
        inside = [name_of[id(one)] for one in group["params"] if id(one) in name_of]
        stepped.update(inside)
        if not inside:
            continue
        settings = _settings_of(kind, group, place)
        for key, value in settings.items():
            if found and found[key] != value:
                raise UserError(f"parameters have several settings: {key} is {found[key]} for "
                                f"{first} and {value} for {inside[0]}", place,
                                "give all parameters the same; freeze those that are not to be "
                                "trained (requires_grad = False)")
        if not found:
            found, first = settings, inside[0]
    left_out = [name for name in names if name not in stepped]
    if left_out:
        raise UserError(f"the optimizer does not have parameter {left_out[0]}", place,
                        "add it, or freeze it (requires_grad = False)")
    return found


def require_no_others(optimizer: torch.optim.Optimizer, parameters: Sequence[torch.nn.Parameter],
                      place: str) -> None:
    """Check that the optimizer trains no parameter beside these."""
    known = {id(parameter) for parameter in parameters}
    for group in optimizer.param_groups:
        if any(one.requires_grad and id(one) not in known for one in group["params"]):
            raise UserError("the optimizer has parameters that are not of the model", place,
                            "prepare one module that holds all of them")
