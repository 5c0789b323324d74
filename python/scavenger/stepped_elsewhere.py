"""The user's optimizer in a script, whose steps the parameter server makes."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

import torch

from scavenger.problems import UserError


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
