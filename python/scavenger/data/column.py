"""A column of a table: an array of floats if all its values are numbers, else a list."""

from __future__ import annotations

import math
from typing import Any, Iterable, List, Optional, Sequence, Union

import numpy

# Missing values are NaN in an array, and None in a list.
Column = Union[numpy.ndarray, List[Any]]


def as_number(value: Any) -> Optional[float]:
    """Return a number for a number, a boolean, or text that is one; otherwise None."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def is_missing(value: Any) -> bool:
    """Return whether this is no value."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def column_of(values: Sequence[Any]) -> Column:
    """Return the column of these values."""
    found = numpy.empty(len(values), dtype=numpy.float64)
    is_any = False
    for row, value in enumerate(values):
        number = math.nan if value is None else as_number(value)
        if number is None:
            return [None if is_missing(each) else each for each in values]
        is_any = is_any or not math.isnan(number)
        found[row] = number
    return found if is_any else [None] * len(values)


def missing_in(column: Column) -> numpy.ndarray:
    """Return for each row whether its value is missing."""
    if isinstance(column, numpy.ndarray):
        return numpy.isnan(column)
    return numpy.fromiter((value is None for value in column), dtype=bool, count=len(column))


def rows_of(column: Column, rows: numpy.ndarray) -> Column:
    """Return some rows of a column."""
    if isinstance(column, numpy.ndarray):
        return column[rows]
    return [column[row] for row in rows]


def joined(parts: Iterable[Column]) -> Column:
    """Return the column that has these one after another."""
    parts = list(parts)
    if all(isinstance(part, numpy.ndarray) for part in parts):
        return numpy.concatenate(parts)
    return [None if is_missing(value) else value for part in parts
            for value in (part.tolist() if isinstance(part, numpy.ndarray) else part)]
