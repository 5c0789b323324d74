"""The rows of tables as arrays: features or text, and targets."""

from __future__ import annotations

import bisect
import itertools
import math
from typing import Any, Dict, Iterable, List, Mapping, NoReturn, Optional, Tuple

import numpy

from scavenger.data.column import Column, as_number, joined, missing_in, rows_of
from scavenger.data.division import divide
from scavenger.data.labels import Labels, targets_as_values
from scavenger.data.tables import Table
from scavenger.problems import UserError


class Rows:
    """The wanted columns of the rows of several tables."""

    def __init__(self, tables: Iterable[Table], label: str, wanted: List[str],
                 missing: str) -> None:
        self.class_names: Optional[List[str]] = None
        self._names = list(wanted)
        self._label = label
        self._drops = missing == "drop"
        self._tables: List[Tuple[Table, numpy.ndarray]] = []  # with the rows that are kept
        for table in tables:
            self._add(table)
        self._starts = [0, *itertools.accumulate(len(rows) for _, rows in self._tables)]
        if self._starts[-1] == 0:
            raise UserError("there are no rows", "data", "name files that have some")
        self.labels = self._joined(label)
        self.values = {name: self._joined(name) for name in self._names}
        self._tables = [(Table(table.place, {}, lines=table.lines), rows)
                        for table, rows in self._tables]

    def _add(self, table: Table) -> None:
        labels = table.column(self._label)
        if len(labels) == 0:
            return
        if not self._names:
            self._names = [name for name, column in table.columns.items()
                           if name != self._label and isinstance(column, numpy.ndarray)]
            if not self._names:
                raise UserError("no column has numbers", table.place,
                                "name columns in data.columns.features or data.columns.text")
        self.class_names = table.class_names.get(self._label, self.class_names)
        gone = missing_in(labels)
        if self._drops:
            for name in self._names:
                gone = gone | missing_in(table.column(name))
        elif gone.any():
            raise UserError(f"column {self._label} has no value",
                            table.row_place(int(gone.argmax())),
                            'remove the row, or set data.columns.missing to "drop"')
        self._tables.append((table, numpy.flatnonzero(~gone)))

    def _joined(self, name: str) -> Column:
        return joined(rows_of(table.column(name), rows) for table, rows in self._tables)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._starts[-1]

    def place(self, row: int) -> str:
        """Return where a row came from."""
        part = bisect.bisect_right(self._starts, row) - 1
        table, rows = self._tables[part]
        return table.row_place(int(rows[row - self._starts[part]]))

    def features(self, means: Optional[numpy.ndarray]) -> numpy.ndarray:
        """Return the features [rows, columns], with a mean for each that is missing."""
        found = numpy.empty((len(self), len(self.values)), dtype=numpy.float32)
        for index, (name, values) in enumerate(self.values.items()):
            column = self._numbers(name, values)
            gone = numpy.isnan(column)
            if gone.any() and means is None:
                raise UserError(f"column {name} has no value", self.place(int(gone.argmax())),
                                'set data.columns.missing to "mean" or "drop", or correct it')
            found[:, index] = column if means is None else numpy.where(gone, means[index], column)
        return found

    def _numbers(self, name: str, values: Column) -> numpy.ndarray:
        """Return a column as floats, with NaN for what is missing. Raises UserError."""
        if isinstance(values, numpy.ndarray):
            column = values
        else:
            numbers = [math.nan if value is None else as_number(value) for value in values]
            if None in numbers:
                self._throw_no_number(name, values, numbers.index(None))
            column = numpy.array(numbers, dtype=numpy.float64)
        with numpy.errstate(over="ignore"):
            endless = numpy.isinf(column.astype(numpy.float32))
        if endless.any():
            self._throw_no_number(name, values, int(endless.argmax()))
        return column

    def _throw_no_number(self, name: str, values: Column, row: int) -> NoReturn:
        raise UserError(f"column {name} is {values[row]}, which is no number of float32",
                        self.place(row),
                        "correct it, or leave the column out of data.columns.features")

    def means(self, rows: numpy.ndarray) -> numpy.ndarray:
        """Return the mean of the known values of each column in these rows."""
        found = numpy.zeros(len(self.values), dtype=numpy.float64)
        for index, (name, values) in enumerate(self.values.items()):
            column = self._numbers(name, values)[rows]
            known = column[~numpy.isnan(column)]
            if len(known) == 0:
                raise UserError(f"column {name} has no value at all", self._tables[0][0].place,
                                "leave it out of data.columns.features")
            found[index] = math.fsum(known) / len(known)
        return found


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
        labels = Labels(rows_of(train.labels, kept), classes, train.place(0), train.class_names)
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
