"""The settings of an optimizer of torch.optim, as a configuration has them."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence

import torch

from scavenger.problems import UserError

PLACE = "make_optimizer()"
KINDS = {torch.optim.SGD: "sgd", torch.optim.Adam: "adam", torch.optim.AdamW: "adamw"}
# Settings that change what a step does, and that Scavenger's steps do not have.
NOT_OFFERED = ("amsgrad", "maximize")


def _settings_of(kind: str, group: Mapping[str, Any]) -> Dict[str, Any]:
    for name in NOT_OFFERED:
        if group.get(name):
            raise UserError(f"the optimizer has {name}=True, which is not offered", PLACE,
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


def settings_of(optimizer: Any, names: Sequence[str],
                parameters: Sequence[torch.nn.Parameter]) -> Dict[str, Any]:
    """Return the section `optimizer`: what the shards step these parameters with.

    Raises UserError if the optimizer does something else than they can do.
    """
    kind = KINDS.get(type(optimizer))
    if kind is None:
        raise UserError(f"make_optimizer() returned {type(optimizer).__name__}", PLACE,
                        "return torch.optim.SGD, Adam or AdamW")
    name_of = {id(parameter): name for name, parameter in zip(names, parameters)}
    found: Dict[str, Any] = {}
    first = ""
    stepped = set()
    for group in optimizer.param_groups:
        inside = [name_of[id(one)] for one in group["params"] if id(one) in name_of]
        stepped.update(inside)
        if not inside:
            continue
        settings = _settings_of(kind, group)
        for key, value in settings.items():
            if found and found[key] != value:
                raise UserError(f"parameters have several settings: {key} is {found[key]} for "
                                f"{first} and {value} for {inside[0]}", PLACE,
                                "give all parameters the same; freeze those that are not to be "
                                "trained (requires_grad = False)")
        if not found:
            found, first = settings, inside[0]
    left_out = [name for name in names if name not in stepped]
    if left_out:
        raise UserError(f"the optimizer does not have parameter {left_out[0]}", PLACE,
                        "add it, or freeze it in make_model() (requires_grad = False)")
    return found
