"""The loss and the times of an iteration's passes. A GPU tells them when the passes have ended."""

from __future__ import annotations

import math
import time
from typing import Any, List, Union

import torch

from scavenger import native


class HostRecord:
    """Of passes that have been computed when the functions that compute them return."""

    def __init__(self) -> None:
        self._loss = 0.0
        self._forward_seconds = self._backward_seconds = 0.0
        self._begun = 0.0

    def begin_pass(self) -> None:
        """Note that the batch is there."""
        self._begun = time.perf_counter()

    def add_loss(self, loss: torch.Tensor) -> bool:
        """Note that the forward pass has ended; return false if the loss is known not to be finite."""
        self._loss += float(loss.detach())
        now = time.perf_counter()
        self._forward_seconds += now - self._begun
        self._begun = now
        return self.is_finite()

    def end_pass(self) -> None:
        """Note that the backward pass has ended."""
        self._backward_seconds += time.perf_counter() - self._begun

    def is_finite(self) -> bool:
        """Return whether the sum of the losses is finite, as far as they have arrived."""
        return math.isfinite(self._loss)

    def fill(self, step: native.Step) -> None:
        """Write the results."""
        step.loss = self._loss
        step.forward_seconds = self._forward_seconds
        step.backward_seconds = self._backward_seconds


class DeviceRecord:
    """Of passes that a GPU computes while this process goes on: nothing waits for it but fill().

    Whatever is copied from the GPU after a pass arrives after its loss.
    """

    def __init__(self, device: torch.device) -> None:
        self._stream = torch.cuda.current_stream(device)
        self._sum = torch.zeros((), dtype=torch.float64, device=device)
        self._arrived = torch.zeros((), dtype=torch.float64, pin_memory=True)
        self._marks: List[Any] = []  # three a pass

    def _mark(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record(self._stream)
        self._marks.append(event)

    def begin_pass(self) -> None:
        """Note that the batch is on its way."""
        self._mark()

    def add_loss(self, loss: torch.Tensor) -> bool:
        """Note that the forward pass is on its way; nothing is known of its loss."""
        self._sum.add_(loss.detach().reshape(()))
        self._arrived.copy_(self._sum, non_blocking=True)
        self._mark()
        return True

    def end_pass(self) -> None:
        """Note that the backward pass is on its way."""
        self._mark()

    def is_finite(self) -> bool:
        """Return whether the sum of the losses is finite, as far as they have arrived."""
        return math.isfinite(float(self._arrived))

    def fill(self, step: native.Step) -> None:
        """Wait for the passes and write the results."""
        self._stream.synchronize()
        step.loss = float(self._arrived)
        passes = list(zip(*[iter(self._marks)] * 3))
        step.forward_seconds = sum(a.elapsed_time(b) for a, b, _ in passes) / 1e3
        step.backward_seconds = sum(b.elapsed_time(c) for _, b, c in passes) / 1e3


PassRecord = Union[HostRecord, DeviceRecord]


def record_of(device: torch.device) -> PassRecord:
    """Return a record for passes on this device."""
    return DeviceRecord(device) if device.type == "cuda" else HostRecord()
