"""WebDataset: tar files in which the files of a sample have one name and several endings.

The places of all files are noted once. So a sample is read from the middle of a shard, in any
order, and the job's order of samples and its guarantees hold as for any other format.
"""

from __future__ import annotations

import os
import pathlib
import tarfile
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Tuple

import numpy
import torch

from scavenger.data.images import ENDINGS, ImagePipeline
from scavenger.data.sources import files_in
from scavenger.problems import UserError

LABEL = "cls"


class Entry:
    """A file in a shard."""

    def __init__(self, shard: int, offset: int, size: int) -> None:
        self.shard = shard
        self.offset = offset
        self.size = size


def shards_of(places: Sequence[str]) -> List[pathlib.Path]:
    """Return the shards."""
    return files_in(places, (".tar",), "shard of tar")


def _members(path: pathlib.Path) -> Iterator[tarfile.TarInfo]:
    try:
        with tarfile.open(path, "r:") as archive:
            yield from archive
    except tarfile.TarError as error:
        raise UserError(f"this is no tar file: {error}", str(path),
                        "unpack it first if it is compressed (gunzip)") from error


def _samples(shards: Sequence[pathlib.Path]) -> Iterator[Tuple[str, Dict[str, Entry]]]:
    """Return the name of each sample and its files by ending, in the order of the shards."""
    for number, path in enumerate(shards):
        found: Dict[str, Dict[str, Entry]] = {}
        for member in _members(path):
            folder, _, name = member.name.rpartition("/")
            stem, point, ending = name.partition(".")
            if not member.isfile() or not point or not stem:
                continue
            sample = found.setdefault(f"{folder}/{stem}", {})
            sample[ending.lower()] = Entry(number, member.offset_data, member.size)
        for name, files in found.items():
            yield f"{path}, sample {name.lstrip('/')}", files


def read_at(path: pathlib.Path, entry: Entry) -> bytes:
    """Return the content of a file in a shard."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        content = os.pread(descriptor, entry.size, entry.offset)
    finally:
        os.close(descriptor)
    if len(content) != entry.size:
        raise UserError("the shard is shorter than when the job began", str(path),
                        "put it back, or begin a new job")
    return content


def _chosen(files: Mapping[str, Entry], endings: Sequence[str], place: str, what: str) -> Entry:
    for ending in endings:
        if ending in files:
            return files[ending]
    raise UserError(f"the sample has no {what}: its files end in {', '.join(sorted(files))}", place,
                    f"add one that ends in {' or '.join(endings[:3])}")


class ShardIndex:
    """Where the samples of some shards are, with their targets as text."""

    def __init__(self, shards: Sequence[pathlib.Path], columns: Mapping[str, Any]) -> None:
        if columns.get("text"):
            endings = [columns["text"]]
        elif columns.get("image"):
            endings = [columns["image"]]
        else:
            endings = [ending.lstrip(".") for ending in ENDINGS]
        label = columns.get("label") or LABEL
        self.inputs: List[Entry] = []
        self.labels: List[str] = []
        self.places: List[str] = []
        for place, files in _samples(shards):
            self.inputs.append(_chosen(files, endings, place, "input"))
            entry = _chosen(files, [label], place, "target")
            self.labels.append(read_at(shards[entry.shard], entry).decode(errors="replace").strip())
            self.places.append(place)
        if not self.inputs:
            raise UserError("the shards have no samples", str(shards[0]),
                            "name shards of a WebDataset")

    def texts(self, shards: Sequence[pathlib.Path], rows: Sequence[int]) -> List[str]:
        """Return the texts of some samples."""
        return [read_at(shards[self.inputs[row].shard], self.inputs[row]).decode(errors="replace")
                for row in rows]

    def table(self, rows: numpy.ndarray) -> numpy.ndarray:
        """Return (shard, offset, size) of some samples' inputs."""
        return numpy.array([[self.inputs[row].shard, self.inputs[row].offset, self.inputs[row].size]
                            for row in rows], dtype=numpy.int64)


class StoredImages:
    """Images within other files."""

    def __init__(self, read: Callable[[int], Tuple[bytes, str]], targets: numpy.ndarray,
                 pipeline: ImagePipeline) -> None:
        self._read = read
        self._targets = torch.from_numpy(numpy.array(targets))
        self._pipeline = pipeline

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self._targets)

    def __getitem__(self, index: int) -> Tuple[torch.Tensor, torch.Tensor]:
        """Return (image, target)."""
        content, place = self._read(index)
        return self._pipeline.load(content, place), self._targets[index]
