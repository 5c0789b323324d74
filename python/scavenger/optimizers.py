"""Reads the settings of a torch.optim optimizer off, as a job's configuration has them."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Tuple

import torch

from scavenger.problems import UserError

REMEDY = "use torch.optim.SGD, Adam or AdamW: the parameter server steps them"
# The names in param_groups of what the parameter server has a setting for, and its own.
COMMON = {"lr": "learning_rate", "weight_decay": "weight_decay"}
SGD = {**COMMON, "momentum": "momentum", "dampening": "dampening", "nesterov": "nesterov"}
ADAM = {**COMMON, "eps": "epsilon"}
UNSUPPORTED = ("maximize", "amsgrad", "differentiable")


def _kind(optimizer: torch.optim.Optimizer, group: Mapping[str, Any]) -> Tuple[str, Dict[str, str]]:
    found = type(optimizer)
    if found is torch.optim.SGD:
        return "sgd", SGD
    if found is torch.optim.AdamW or (found is torch.optim.Adam
                                      and group.get("decoupled_weight_decay")):
        return "adamw", ADAM
    if found is torch.optim.Adam:
        return "adam", ADAM
    raise UserError(f"{found.__name__} is not an optimizer that the parameter server has",
                    "scavenger.prepare()", REMEDY)


def _settings(group: Mapping[str, Any], names: Mapping[str, str]) -> Dict[str, Any]:
    settings = {ours: group[name] for name, ours in names.items()}
    if "betas" in group:
        settings["beta1"], settings["beta2"] = group["betas"]
    return {name: value if isinstance(value, bool) else float(value)
            for name, value in settings.items()}


def settings_of(optimizer: torch.optim.Optimizer) -> Dict[str, Any]:
    """Return the section `optimizer` of a job's configuration. Raises UserError."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise UserError(f"{type(optimizer).__name__} is no torch.optim.Optimizer",
                        "scavenger.prepare()", REMEDY)
    first = optimizer.param_groups[0]
    kind, names = _kind(optimizer, first)
    settings = _settings(first, names)
    for group in optimizer.param_groups:
        for name in UNSUPPORTED:
            if group.get(name):
                raise UserError(f"{type(optimizer).__name__} with {name}=True is not offered",
                                "scavenger.prepare()", f"leave {name} out")
        for name, value in _settings(group, names).items():
            if value != settings[name]:
                raise UserError(
                    f"the parameter groups differ in {name} ({settings[name]} and {value}), and "
                    "the parameter server has one setting for all parameters",
                    "scavenger.prepare()", "give all groups the same settings")
    if optimizer.state:
        raise UserError("the optimizer has state of earlier steps", "scavenger.prepare()",
                        "make a new one: Scavenger's checkpoints keep its state")
    return {"type": kind, **settings}


def require_same_parameters(optimizer: torch.optim.Optimizer, module: torch.nn.Module) -> None:
    """Check that the optimizer has the parameters that are trained, and no others."""
    known = {id(parameter): name for name, parameter in module.named_parameters()}
    given = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]
             if parameter.requires_grad}
    trained = {id(p) for p in module.parameters() if p.requires_grad}
    if given - trained:
        raise UserError("the optimizer has parameters that are not of the model",
                        "scavenger.prepare()", "prepare one module that holds all of them")
    left = [known[each] for each in trained - given]
    if left:
        raise UserError(f"the optimizer lacks parameter {min(left)}", "scavenger.prepare()",
                        "give it all parameters, or set requires_grad_(False) on this one")


class SteppedElsewhere:
    """Replaces an optimizer's step() and notices a learning rate that somebody changes."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self._groups: List[Dict[str, Any]] = optimizer.param_groups
        self._rates = [float(group["lr"]) for group in self._groups]
        setattr(optimizer, "step", self._refuse)

    @staticmethod
    def _refuse(closure: "Callable[[], Any] | None" = None) -> None:
        raise UserError("optimizer.step() was called", "",
                        "call scavenger.step(loss), which steps the optimizer, in its place")

    def require_unchanged(self) -> None:
        """Raise UserError if a scheduler has changed the learning rate."""
        for group, rate in zip(self._groups, self._rates):
            if float(group["lr"]) != rate:
                raise UserError(
                    f"the optimizer's learning rate was changed from {rate} to {group['lr']}", "",
                    'name a schedule in its place: scavenger.prepare(model, optimizer, schedule='
                    '{"type": "cosine", ...}), as optimizer.schedule of docs/config.md')
