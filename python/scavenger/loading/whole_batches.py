"""Batches that are read at once: rows of tensors and arrays in memory, for which nothing is drawn.

A sample at a time, 64 of them take ten times as long: each is a call of Python, is seeded,
and is a tensor of its own before they are put together.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch.utils.data import Subset, TensorDataset, default_collate

Rows = Callable[[torch.Tensor], Any]


def rows_of(dataset: Any, collate: Optional[Callable[..., Any]]) -> Optional[Rows]:
    """Return what makes the batch of the samples of these numbers, as collate would make it.

    None if the samples are to be read one by one.
    """
    from scavenger.data.configured import Reader, Rectangle
    from scavenger.data.division import Part

    kind = type(dataset)  # a subclass may do more with its samples
    if kind is TensorDataset:
        is_plain = all(type(tensor) is torch.Tensor and tensor.layout == torch.strided
                       and not tensor.requires_grad for tensor in dataset.tensors)
        if collate not in (None, default_collate) or not is_plain:
            return None
        return lambda numbers: [tensor[numbers] for tensor in dataset.tensors]
    if kind is Rectangle:
        is_own = getattr(collate, "__func__", None) is Reader.collate
        return dataset.rows if is_own else None
    if kind in (Part, Subset):
        rows = rows_of(dataset.dataset, collate)
        if rows is None:
            return None
        chosen = torch.as_tensor(dataset.indices, dtype=torch.int64)
        return lambda numbers: rows(chosen[numbers])
    return None
