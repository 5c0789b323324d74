"""The batches that the library hands over, as tensors on its memory."""

from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Tuple

import torch

from scavenger import Batch, native

MOST_KEPT = 16
CACHE_LINE = 64  # bytes; where a tensor starts decides which kernels a library uses


def _shape(pointer: Any, dimensions: int) -> List[int]:
    return [pointer[i] for i in range(dimensions)]


def _tensor(address: int, kind: Any, dtype: torch.dtype, shape: List[int]) -> torch.Tensor:
    count = 1
    for side in shape:
        count *= side
    memory = (kind * count).from_address(address)
    return torch.frombuffer(memory, dtype=dtype).view(shape)


def samples_of(batch: native.Batch) -> List[int]:
    """Return the numbers of the batch's samples in the user's own data set."""
    return list((ctypes.c_int64 * batch.size).from_address(batch.tokens))


class BatchViews:
    """Inputs and targets as views of the library's memory, which takes turns among a few places.

    They are kept, as to make one takes longer than to load a small batch; users get views of them.
    """

    def __init__(self) -> None:
        self._kept: Dict[Tuple[Any, ...], Batch] = {}

    def of(self, batch: native.Batch) -> Batch:
        """Return the views of this batch."""
        inputs = [batch.size] + _shape(batch.sample_shape, batch.sample_dimensions)
        targets = [batch.size] + _shape(batch.target_shape, batch.target_dimensions)
        place = (batch.features, batch.tokens, batch.values, batch.labels, *inputs, 0, *targets)
        views = self._kept.get(place)
        if views is None:
            if len(self._kept) >= MOST_KEPT:  # batches of texts have many shapes
                self._kept.clear()
            views = self._kept[place] = _tensors_of(batch, inputs, targets)
        return views


def _tensors_of(batch: native.Batch, inputs: List[int], targets: List[int]) -> Batch:
    if batch.features:
        samples = _tensor(batch.features, ctypes.c_float, torch.float32, inputs)
    else:
        samples = _tensor(batch.tokens, ctypes.c_int64, torch.int64, inputs)
    if batch.values:
        return Batch(samples, _tensor(batch.values, ctypes.c_float, torch.float32, targets))
    return Batch(samples, _tensor(batch.labels, ctypes.c_int64, torch.int64, targets))


def rows(batch: Batch, first: int, last: int) -> Batch:
    """Return some rows of a batch; those that do not start at a cache line are copied."""
    return Batch(*(_aligned(tensor[first:last]) for tensor in batch))


def _aligned(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.data_ptr() % CACHE_LINE == 0 else tensor.clone()
