"""The rows of tables as arrays: features or text, and targets."""

from __future__ import annotations

import math
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

import numpy

from scavenger.data.division import divide
from scavenger.data.labels import Labels, as_number, targets_as_values
from scavenger.data.tables import Table
from scavenger.problems import UserError


class Rows:
    """The wanted columns of the rows of several tables."""

    def __init__(self, tables: Iterable[Table], label: str, wanted: List[str],
                 missing: str) -> None:
        self.values: Dict[str, List[Any]] = {}
        self.labels: List[Any] = []
        self.places: List[Tuple[Table, int]] = []
        self.class_names: Optional[List[str]] = None
        for table in tables:
            self._add(table, label, wanted, missing)
        if not self.labels:
            raise UserError("there are no rows", "data", "name files that have some")

    def _add(self, table: Table, label: str, wanted: List[str], missing: str) -> None:
        labels = table.column(label)
        if not labels:
            return
        if not self.values:
            names = wanted or [name for name in table.columns
                               if name != label and _has_numbers(table.columns[name])]
            if not names:
                raise UserError("no column has numbers", table.place,
                                "name columns in data.columns.features or data.columns.text")
            self.values = {name: [] for name in names}
        self.class_names = table.class_names.get(label, self.class_names)
        columns = [table.column(name) for name in self.values]
        for row, target in enumerate(labels):
            fields = [column[row] for column in columns]
            if missing == "drop" and any(map(_is_missing, [target, *fields])):
                continue
            if _is_missing(target):
                raise UserError(f"column {label} has no value", table.row_place(row),
                                'remove the row, or set data.columns.missing to "drop"')
            self.labels.append(target)
            self.places.append((table, row))
            for column, field in zip(self.values.values(), fields):
                column.append(field)

    def place(self, row: int) -> str:
        """Return where a row came from."""
        table, number = self.places[row]
        return table.row_place(number)

    def features(self, row_means: Optional[numpy.ndarray]) -> numpy.ndarray:
        """Return the features [rows, columns], with a mean for each that is missing."""
        found = numpy.empty((len(self.labels), len(self.values)), dtype=numpy.float32)
        for index, (name, values) in enumerate(self.values.items()):
            for row, value in enumerate(values):
                if _is_missing(value):
                    if row_means is None:
                        raise UserError(
                            f"column {name} has no value", self.place(row),
                            'set data.columns.missing to "mean" or "drop", or correct it')
                    found[row, index] = row_means[index]
                    continue
                number = as_number(value)
                if number is None or not math.isfinite(number):
                    raise UserError(f"column {name} is {value}, which is no number",
                                    self.place(row), "correct it, or leave the column out of "
                                    "data.columns.features")
                found[row, index] = number
        return found

    def means(self, rows: numpy.ndarray) -> numpy.ndarray:
        """Return the mean of the known values of each column in these rows."""
        found = numpy.zeros(len(self.values), dtype=numpy.float64)
        for index, (name, values) in enumerate(self.values.items()):
            known = [number for number in (as_number(values[row]) for row in rows)
                     if number is not None and math.isfinite(number)]
            if not known:
                raise UserError(f"column {name} has no value at all", self.places[0][0].place,
                                "leave it out of data.columns.features")
            found[index] = math.fsum(known) / len(known)
        return found


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _has_numbers(values: List[Any]) -> bool:
    known = [value for value in values if not _is_missing(value)]
    return bool(known) and all(as_number(value) is not None for value in known)


def chosen(rows: int, share: float, is_train: bool, is_divided: bool) -> numpy.ndarray:
    """Return which rows a split has."""
    if not is_divided:
        return numpy.arange(rows)
    return divide(rows, share)[0 if is_train else 1]


def split_arrays(train: Rows, own: Rows, data: Mapping[str, Any], is_train: bool
                 ) -> Tuple[Dict[str, numpy.ndarray], Dict[str, Any]]:
    """Return the targets and the features, or rows of text, of a split.

    Classes and means are those of the training rows that are not held back for testing.
    """
    share = float(data.get("validation_share", 0.0))
    kept = chosen(len(train.labels), share, True, share > 0)
    rows = chosen(len(own.labels), share, is_train, share > 0)
    classes = int(data.get("classes", 0))
    meta: Dict[str, Any] = {}
    if classes > 0:
        labels = Labels([train.labels[row] for row in kept], classes, train.places[0][0].place,
                        train.class_names)
        values = own.labels
        if own.class_names is not None:  # as the library `datasets` stores them, by number
            values = [own.class_names[int(value)] for value in values]
        targets = labels.numbers(values, own.place)
        meta["class_names"] = labels.names
    else:
        targets = targets_as_values(own.labels, own.place)[:, None]
    arrays = {"targets": targets[rows]}
    if not (data.get("columns") or {}).get("text"):
        means = train.means(kept) if (data.get("columns") or {}).get("missing") == "mean" else None
        arrays["features"] = own.features(means)[rows]
        meta["features"] = list(own.values)
    else:
        meta["rows"] = rows.tolist()
    return arrays, meta
