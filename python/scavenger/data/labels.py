"""Targets: classes, whose names become numbers, or values."""

from __future__ import annotations

import math
from typing import Any, Callable, List, Optional

import numpy

from scavenger.data.column import Column, as_number
from scavenger.problems import UserError

SHOWN_NAMES = 8
Place = Callable[[int], str]  # where a row is


def _class_text(value: Any) -> str:
    number = as_number(value)
    if number is not None and not isinstance(value, bool) and abs(number) < 2**53 \
            and number == math.floor(number):
        return str(int(number))
    return str(value)


def _order(name: str) -> Any:
    number = as_number(name)
    return (1, 0.0, name) if number is None or math.isnan(number) else (0, number, name)


class Labels:
    """The classes of a training split.

    Whole numbers from 0 to classes - 1 stand for themselves. Everything else is a name; names are
    sorted, numbers by value and before words, and numbered from 0.
    """

    def __init__(self, values: Column, classes: int, place: str,
                 names: Optional[List[str]] = None) -> None:
        _require_names(values, lambda _: place)
        if names is None:
            found = {_class_text(value) for value in _different(values)}
            are_numbers = all(text.isdecimal() and int(text) < classes for text in found)
            names = [str(number) for number in range(classes)] if are_numbers else \
                sorted(found, key=_order)
        if len(names) != classes:
            shown = ", ".join(names[:SHOWN_NAMES])
            rest = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
            raise UserError(f"there are {len(names)} classes, and data.classes is {classes}: "
                            f"{shown}{rest}", place, f"set data.classes to {len(names)}")
        self.names = names
        self._numbers = {name: number for number, name in enumerate(names)}

    def numbers(self, values: Column, place: Place) -> numpy.ndarray:
        """Return the number of each value's class. Raises UserError."""
        _require_names(values, place)
        number_of = {value: self._numbers.get(_class_text(value)) for value in _different(values)}
        found = numpy.empty(len(values), dtype=numpy.int64)
        for row, value in enumerate(_plain(values)):
            number = number_of[value]
            if number is None:
                raise UserError(f"the class {_class_text(value)} is not one of the training data",
                                place(row), "correct it, or add samples of it to the training data")
            found[row] = number
        return found


def _require_names(values: Column, place: Place) -> None:
    if isinstance(values, numpy.ndarray):
        return
    for row, value in enumerate(values):
        if isinstance(value, (list, dict)):
            raise UserError(f"the class {value} is no name or number", place(row), "make it one")


def _plain(values: Column) -> List[Any]:
    return values.tolist() if isinstance(values, numpy.ndarray) else values


def _different(values: Column) -> List[Any]:
    if isinstance(values, numpy.ndarray):
        return list(numpy.unique(values).tolist())
    return list(set(values))


def targets_as_values(values: Column, place: Place) -> numpy.ndarray:
    """Return the targets as floats. Raises UserError."""
    for row, value in enumerate(_plain(values)):
        number = as_number(value)
        if number is None or not math.isfinite(number):
            raise UserError(f"the target {value} is no number", place(row),
                            "correct it, or set data.classes if targets are names of classes")
    return numpy.array([as_number(value) for value in _plain(values)], dtype=numpy.float32)
