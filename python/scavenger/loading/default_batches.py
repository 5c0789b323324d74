"""Batches that PyTorch's own collate function makes, and what to do about samples it cannot join."""

from __future__ import annotations

from typing import Any, Callable, Iterable, List, Mapping, Optional, Tuple

from torch.utils.data import default_collate

from scavenger.problems import UserError, blaming

REMEDY = ("define what a batch of such samples is: collate(samples) in the model's file, or "
          "collate_fn of scavenger.loader()")


def default_batch(samples: List[Any], name_of: Callable[[int], str],
                  where: Callable[[], str]) -> Any:
    """Return the batch of these samples. Raises UserError.

    For the message, `name_of` has the name of each, by its place in the list, and `where` of all.
    """
    try:
        with blaming("the default collate()", where):
            return default_collate(samples)
    except UserError as error:
        for offset, sample in enumerate(samples):
            place = _place_of_none(sample)
            if place is not None:
                what = f"{name_of(offset)} {f'has None at {place}' if place else 'is None'}"
                raise UserError(f"{what}, of which the default collate() makes no batch", "",
                                REMEDY) from error
        error.remedy = REMEDY
        raise


def _place_of_none(value: Any) -> Optional[str]:
    """Return where None is in a sample, as Python's subscripts; nothing if it is nowhere."""
    if value is None:
        return ""
    parts: Iterable[Tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    for key, part in parts:
        place = _place_of_none(part)
        if place is not None:
            return f"[{key!r}]{place}"
    return None
