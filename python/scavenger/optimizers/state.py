"""What an optimizer of torch.optim remembers of each parameter, in flat vectors of floats.

There is a vector for each name of its state (`exp_avg`, `step`), as long as the weights. What it
remembers of a parameter under that name lies where the parameter does; it may be smaller, such as a
count, but not larger. So checkpoints, other numbers of workers and resumes know it as they know the
state of the parameter server's optimizers.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import torch

from scavenger.problems import UserError, blaming

MOST_NAMES = 64
# Two, since the first step makes the state and the second one uses it.
TRIAL_STEPS = 2


@dataclasses.dataclass(frozen=True)
class Entry:
    """How a value of the state is kept: its shape and type; a Python number has no type."""

    shape: Tuple[int, ...]
    dtype: Optional[torch.dtype]
    is_whole: bool = False  # a Python number that is an int

    @property
    def size(self) -> int:
        """Return how many numbers it has."""
        return math.prod(self.shape)

    @property
    def is_view(self) -> bool:
        """Return whether the optimizer may work on the vector itself."""
        return self.dtype is torch.float32


# For each parameter the entries by name.
Layout = List[Dict[str, Entry]]
Beginning = Dict[Any, Dict[str, Any]]  # state by parameter


def _entry_of(value: Any, name: str, parameter: str, size: int, place: str) -> Optional[Entry]:
    where = f"the optimizer's {name} of {parameter}"
    if value is None:
        return None
    if isinstance(value, (bool, int, float)):
        return Entry((), None, not isinstance(value, float))
    if not isinstance(value, torch.Tensor):
        raise UserError(f"{where} is of type {type(value).__name__}", place,
                        "use an optimizer that keeps tensors and numbers")
    if value.is_complex() or value.layout != torch.strided:
        raise UserError(f"{where} is a tensor of type {value.dtype}, {value.layout}", place,
                        "use an optimizer that keeps dense real tensors")
    if value.numel() > size:
        raise UserError(f"{where} has {value.numel()} numbers, and the parameter {size}", place,
                        "use an optimizer whose state is not larger than the parameter")
    return Entry(tuple(value.shape), value.dtype)


def _settings_of(optimizer: torch.optim.Optimizer) -> List[Dict[str, Any]]:
    return [{name: copy.deepcopy(value) for name, value in group.items() if name != "params"}
            for group in optimizer.param_groups]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return torch.equal(one, other)
    return bool(one == other)


def _require_same_settings(before: Sequence[Mapping[str, Any]],
                           after: Sequence[Mapping[str, Any]], place: str) -> None:
    for old, new in zip(before, after):
        for name in new:
            if name not in old or not _same(old[name], new[name]):
                raise UserError(f"the optimizer changes {name} of its parameter groups when it "
                                "steps", place, "use one that keeps its state by parameter, which "
                                "checkpoints can hold")


def layout_of(optimizer: torch.optim.Optimizer, names: Sequence[str],
              parameters: Sequence[torch.nn.Parameter], place: str) -> Layout:
    """Return what the optimizer remembers, which two steps on the side tell.

    The parameters change; the optimizer's settings and state are then as before. Raises UserError
    if the state cannot be kept.
    """
    beginning = beginning_of(optimizer)
    settings = _settings_of(optimizer)
    layouts = []
    try:
        for _ in range(TRIAL_STEPS):
            for parameter in parameters:
                parameter.grad = torch.full_like(parameter, 1e-3)
            with blaming("the optimizer's step()"):
                optimizer.step()
            layouts.append(_layout_now(optimizer, names, parameters, place))
    finally:
        begin(optimizer, beginning)
    _require_same_settings(settings, _settings_of(optimizer), place)
    if layouts[0] != layouts[-1]:
        raise UserError("the optimizer's state after its second step is another than after its "
                        "first", place, "use one whose state keeps its names and shapes")
    return layouts[0]


def beginning_of(optimizer: torch.optim.Optimizer) -> Beginning:
    """Return the state of an optimizer that has made no step, which most do not have."""
    return {parameter: copy.deepcopy(dict(values))
            for parameter, values in optimizer.state.items()}


def begin(optimizer: torch.optim.Optimizer, beginning: Beginning) -> None:
    """Give the optimizer this state."""
    optimizer.state.clear()
    for parameter, values in beginning.items():
        optimizer.state[parameter] = copy.deepcopy(values)


def _layout_now(optimizer: torch.optim.Optimizer, names: Sequence[str],
                parameters: Sequence[torch.nn.Parameter], place: str) -> Layout:
    known = {id(parameter) for parameter in parameters}
    if any(not isinstance(key, torch.Tensor) or id(key) not in known for key in optimizer.state):
        raise UserError("the optimizer keeps state of other things than parameters", place,
                        "use one that keeps its state by parameter")
    found = []
    for name, parameter in zip(names, parameters):
        entries = {}
        for key, value in optimizer.state.get(parameter, {}).items():
            if not isinstance(key, str) or not key or "/" in key:
                raise UserError(f"the optimizer's state has the name {key!r}", place,
                                "use one whose names are words")
            entry = _entry_of(value, key, name, parameter.numel(), place)
            if entry is not None:
                entries[key] = entry
        found.append(entries)
    return found


def names_of(layout: Layout, place: str) -> List[str]:
    """Return the names of the vectors, in their order."""
    found = sorted({name for entries in layout for name in entries})
    if len(found) > MOST_NAMES:
        raise UserError(f"the optimizer's state has {len(found)} names", place,
                        f"use one with at most {MOST_NAMES}")
    return found


def load(entry: Entry, part: torch.Tensor) -> Any:
    """Return the value at the beginning of `part`, which is the parameter's part of a vector.

    It is a view where the optimizer may work on the vector itself.
    """
    if entry.dtype is None:
        number = float(part[0])
        return int(number) if entry.is_whole else number
    values = part[:entry.size].view(entry.shape)
    return values if entry.is_view else values.to(entry.dtype)


def store(value: Any, part: torch.Tensor, name: str) -> None:
    """Write a value of the state to its place. Raises UserError if floats cannot hold it."""
    if isinstance(value, torch.Tensor):
        if value.dtype is torch.float32 and value.data_ptr() == part.data_ptr():
            return
        values = value.detach().flatten()
    else:
        values = torch.tensor([float(value)], dtype=torch.float64)
    kept = part[:values.numel()]
    with torch.no_grad():
        kept.copy_(values)
    is_kept = kept.to(values.dtype) == values
    if not bool((is_kept | (values != values)).all()):
        raise UserError(f"the optimizer's {name} has numbers that 32-bit floats do not have", "",
                        "use an optimizer that keeps its state in torch.float32")
