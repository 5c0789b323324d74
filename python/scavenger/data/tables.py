"""Columns of CSV, JSON Lines, Parquet, Arrow, and data sets of the library `datasets` on disk."""

from __future__ import annotations

import array
import contextlib
import csv
import gzip
import json
import pathlib
import zlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from scavenger.data.column import Column, column_of
from scavenger.data.sources import files_in, require
from scavenger.problems import UserError

CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
JSON_LINES = (".jsonl", ".jsonl.gz", ".ndjson")
PARQUET = (".parquet",)
ARROW = (".arrow", ".feather")
ENDINGS = CSV + JSON_LINES + PARQUET + ARROW
# What an empty field of a text file is written as, in small letters.
MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
SHOWN_COLUMNS = 12


class Table:
    """Named columns of the same length."""

    def __init__(self, place: str, columns: Dict[str, Column],
                 class_names: Optional[Dict[str, List[str]]] = None,
                 lines: Optional[Sequence[int]] = None) -> None:
        self.place = place
        self.columns = columns
        self.class_names = class_names or {}  # of columns whose numbers stand for names
        self.lines = lines  # of the file, at which rows begin

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def column(self, name: str) -> Column:
        """Return a column. Raises UserError."""
        if name not in self.columns:
            names = ", ".join(list(self.columns)[:SHOWN_COLUMNS])
            rest = len(self.columns) - SHOWN_COLUMNS
            raise UserError(f"there is no column {name}", self.place,
                            f"use one of {names}" + (f" and {rest} more" if rest > 0 else ""))
        return self.columns[name]

    def row_place(self, row: int) -> str:
        """Return where a row is, for a message."""
        if self.lines is not None:
            return f"{self.place}:{self.lines[row]}"
        return f"{self.place}, row {row}"


@contextlib.contextmanager
def _opened(path: pathlib.Path) -> Iterator[Any]:
    """Read a file of text. Raises UserError."""
    opening: Callable[..., Any] = gzip.open if path.name.endswith(".gz") else open
    try:
        with opening(path, "rt", encoding="utf-8-sig", newline="") as stream:
            yield stream
    except UnicodeDecodeError as error:
        raise UserError(f"this is no text in UTF-8: {error}", str(path),
                        "convert it, for example with iconv") from error
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"this file cannot be read: {error}", str(path),
                        "see that it is complete, and that you may read it") from error


def _columns_of(values: Dict[str, List[Any]], text: str) -> Dict[str, Column]:
    """Return the columns; that of text stays as it is."""
    return {name: column if name == text else column_of(column) for name, column in values.items()}


def _read_csv(path: pathlib.Path, text: str) -> Table:
    lines = array.array("Q")
    separator = "\t" if ".tsv" in path.name.lower() else ","
    with _opened(path) as stream:
        rows = csv.reader(stream, delimiter=separator, strict=True)
        try:
            names = next(rows, None)
            if not names:
                raise UserError("the file is empty", str(path), "begin it with the columns' names")
            if len(set(names)) != len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise UserError(f"two columns have the name {twice}", f"{path}:1",
                                "the first line has the columns' names; give each its own")
            values: List[List[Any]] = [[] for _ in names]
            last = rows.line_num
            for row in rows:
                first, last = last + 1, rows.line_num
                if not row:
                    continue
                if len(row) != len(names):
                    raise UserError(f"this line has {len(row)} fields, and the first {len(names)}",
                                    f"{path}:{first}", "correct the line")
                lines.append(first)
                for name, column, field in zip(names, values, row):
                    absent = not field if name == text else field.strip().lower() in MISSING
                    column.append(None if absent else field)
        except csv.Error as error:
            raise UserError(f"this is no CSV: {error}", f"{path}:{rows.line_num}",
                            "correct the line") from error
    return Table(str(path), _columns_of(dict(zip(names, values)), text), lines=lines)


def _read_json_lines(path: pathlib.Path, text: str) -> Table:
    columns: Dict[str, List[Any]] = {}
    lines = array.array("Q")
    with _opened(path) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise UserError(f"this line is no JSON: {error}", f"{path}:{number}",
                                "correct the line") from error
            if not isinstance(row, dict):
                raise UserError("this line is no JSON object", f"{path}:{number}",
                                'write {"column": value, ...}')
            for name, value in row.items():
                columns.setdefault(name, [None] * len(lines)).append(value)
            lines.append(number)
            for column in columns.values():
                if len(column) < len(lines):
                    column.append(None)
    return Table(str(path), _columns_of(columns, text), lines=lines)


def _column_of_arrow(column: Any) -> Column:
    types = require("pyarrow", "reading Arrow").types
    kind = column.type
    if column.null_count == len(column) or not (
            types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        return column_of(column.to_pylist())
    return column.cast("float64", safe=False).to_numpy()  # null becomes NaN


def _from_arrow(place: str, table: Any, wanted: Sequence[str]) -> Table:
    names = [name for name in table.column_names if not wanted or name in wanted]
    return Table(place, {name: _column_of_arrow(table.column(name)) for name in names})


def _read_parquet(path: pathlib.Path, wanted: Sequence[str]) -> Table:
    parquet = require("pyarrow.parquet", "reading Parquet")
    try:
        return _from_arrow(str(path), parquet.read_table(path), wanted)
    except (OSError, ValueError) as error:  # pyarrow's errors are of these kinds
        raise UserError(f"this is no Parquet file: {error}", str(path), "write it again") from error


def open_arrow(path: pathlib.Path) -> Any:
    """Map a file of Arrow in either of its forms. Raises UserError."""
    arrow = require("pyarrow", "reading Arrow")
    try:
        mapped = arrow.memory_map(str(path))
        if mapped.read(6) == b"ARROW1":
            mapped.seek(0)
            return arrow.ipc.open_file(mapped).read_all()
        mapped.seek(0)
        return arrow.ipc.open_stream(mapped).read_all()
    except (OSError, ValueError) as error:
        raise UserError(f"this is no Arrow file: {error}", str(path), "write it again") from error


def read_tables(places: Sequence[str], wanted: Sequence[str], text: str = ""
                ) -> Tuple[List[pathlib.Path], Callable[[], Iterator[Table]]]:
    """Return the files, and what reads a table of each; `text` is the name of the column of text.

    Columns that are not wanted may be left out.
    """
    files = files_in(places, ENDINGS, "file of a table")

    def read() -> Iterator[Table]:
        for path in files:
            name = path.name.lower()
            if name.endswith(CSV):
                yield _read_csv(path, text)
            elif name.endswith(JSON_LINES):
                yield _read_json_lines(path, text)
            elif name.endswith(PARQUET):
                yield _read_parquet(path, wanted)
            else:
                yield _from_arrow(str(path), open_arrow(path), wanted)
    return files, read


def _feature_names(folder: pathlib.Path) -> Dict[str, List[str]]:
    """Return the names of the classes of each column that the library `datasets` has recorded."""
    path = folder / "dataset_info.json"
    if not path.is_file():
        return {}
    features = json.loads(path.read_text(encoding="utf-8")).get("features") or {}
    return {name: list(feature["names"]) for name, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"}


def saved_files(places: Sequence[str]) -> List[Tuple[pathlib.Path, Dict[str, List[str]]]]:
    """Return the Arrow files of folders that save_to_disk() has written, and their class names."""
    found = []
    for folder in map(pathlib.Path, places):
        if (folder / "dataset_dict.json").is_file():
            splits = json.loads((folder / "dataset_dict.json").read_text())["splits"]
            raise UserError("this folder holds several data sets", str(folder),
                            f"name one of them: {', '.join(str(folder / one) for one in splits)}")
        if not (folder / "state.json").is_file():
            raise UserError("this is no folder that save_to_disk() has written: state.json is "
                            "missing", str(folder), "correct the path")
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        names = _feature_names(folder)
        for entry in state["_data_files"]:
            path = folder / entry["filename"]
            if not path.is_file():
                raise UserError("this file of the data set is missing", str(path),
                                "copy the whole folder")
            found.append((path, names))
    return found


def read_saved(places: Sequence[str], wanted: Sequence[str], text: str = ""
               ) -> Tuple[List[pathlib.Path], Callable[[], Iterator[Table]]]:
    """Do what read_tables() does, for folders that save_to_disk() has written."""
    del text  # Arrow knows the types of its columns
    files = saved_files(places)

    def read() -> Iterator[Table]:
        for path, names in files:
            table = _from_arrow(str(path), open_arrow(path), wanted)
            table.class_names = names
            yield table
    return [path for path, _ in files], read
