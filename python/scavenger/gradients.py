"""Collects the gradients of a module while they are computed, and hands each over when it is final."""

from __future__ import annotations

from typing import Any, Callable, List, Optional

import torch

from scavenger.devices.mirror import Mirror
from scavenger.devices.pass_record import HostRecord, PassRecord
from scavenger.model_state import ModelState
from scavenger.problems import UserError


class GradientCollector:
    """Takes each parameter's gradient where a backward pass has made it. Thread: that of the pass."""

    def __init__(self, state: ModelState, ready: Callable[[Any, int], None]) -> None:
        self._state = state
        self._ready = ready
        self._worker: Any = None
        self._mirror: Optional[Mirror] = None
        self._gradients: List[torch.Tensor] = []
        self._has_value: List[bool] = []
        self._told: List[bool] = []
        self.is_active = True  # else gradients stay where PyTorch puts them
        self.is_last_pass = True  # else another one adds to them
        self.record: PassRecord = HostRecord()  # of the iteration
        for index, parameter in enumerate(state.parameters):
            parameter.register_post_accumulate_grad_hook(self._hook(index))

    def use_gradients(self, views: List[torch.Tensor]) -> None:
        """Have gradients come to these views from now on."""
        self._mirror = self._state.mirror
        if self._mirror is None:
            self._gradients = views
            return
        self._mirror.use_gradients(views)
        self._gradients = self._mirror.gradients

    def begin(self, worker: Any) -> None:
        """Begin the passes of an iteration."""
        self._worker = worker
        self._has_value = [False] * len(self._state.parameters)
        self._told = [False] * len(self._state.parameters)
        if self._mirror is not None:
            self._mirror.begin(self._arrived)

    def _arrived(self, index: int) -> None:
        """Hand a gradient over, unless its loss, which came before it, turns out to be no number."""
        if self.record.is_finite():
            self._ready(self._worker, index)

    def has_told(self) -> bool:
        """Return whether a gradient was handed over in this iteration."""
        return self._mirror.has_told if self._mirror is not None else any(self._told)

    def _tell(self, index: int, gradient: Optional[torch.Tensor] = None) -> None:
        """Say that a gradient is final: this one, which the mirror takes, or the one in its place."""
        self._told[index] = True
        if self._mirror is not None:
            self._mirror.gradient_is_final(index, gradient)
        else:
            self._ready(self._worker, index)

    def finish(self, work: Callable[[], bool] = lambda: False) -> None:
        """Hand over what earlier passes of the iteration have given and the last one has not.

        `work` is done while the device has yet to compute, as long as it returns True.
        """
        for index, has_value in enumerate(self._has_value):
            if has_value and not self._told[index]:
                self._tell(index)
        if self._mirror is not None:
            self._mirror.finish(work)

    def collect_all(self) -> None:
        """Take the gradients that backward passes have left at the parameters."""
        for index in reversed(range(len(self._state.parameters))):
            self._collect(index, self._state.parameters[index])

    def _hook(self, index: int) -> Callable[[torch.nn.Parameter], None]:
        def collect(parameter: torch.nn.Parameter) -> None:
            if self.is_active:
                self._collect(index, parameter)
        return collect

    def _collect(self, index: int, parameter: torch.nn.Parameter) -> None:
        gradient = parameter.grad
        parameter.grad = None
        if gradient is None:
            return
        if self._told[index]:
            raise UserError(
                f"the gradient of {self._state.names[index]} came twice in one backward pass",
                "loss()", "use checkpoint(..., use_reentrant=False), and call no backward()")
        if gradient.layout != torch.strided:
            gradient = gradient.to_dense()
        if self._mirror is not None and self.is_last_pass and not self._has_value[index]:
            self._tell(index, gradient)
            return
        if self._has_value[index]:
            self._gradients[index].add_(gradient)
        else:
            self._gradients[index].copy_(gradient)
            self._has_value[index] = True
        if self.is_last_pass:
            self._tell(index)
