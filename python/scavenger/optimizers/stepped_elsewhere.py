"""The user's optimizer in a script, whose steps the job makes."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

import torch

from scavenger.problems import UserError


class SteppedElsewhere:
    """Replaces an optimizer's step() and notices a learning rate that somebody changes."""

    def __init__(self, optimizer: torch.optim.Optimizer, has_scheduler: bool = False) -> None:
        self._groups: List[Dict[str, Any]] = [] if has_scheduler else optimizer.param_groups
        self._rates = [_rate_of(group) for group in self._groups]
        setattr(optimizer, "step", self._refuse)

    @staticmethod
    def _refuse(closure: "Callable[[], Any] | None" = None) -> None:
        raise UserError("optimizer.step() was called", "",
                        "call scavenger.step(loss), which steps the optimizer, in its place")

    def require_unchanged(self) -> None:
        """Raise UserError if a scheduler that the job does not know has changed a learning rate."""
        for group, rate in zip(self._groups, self._rates):
            now = _rate_of(group)
            if now != rate:
                raise UserError(
                    f"the optimizer's learning rate was changed from {rate} to {now}", "",
                    "give the scheduler to the job, scavenger.prepare(model, optimizer, "
                    "scheduler=scheduler), and do not call its step()")


def _rate_of(group: Dict[str, Any]) -> Optional[float]:
    rate = group.get("lr")
    return None if rate is None else float(rate)
