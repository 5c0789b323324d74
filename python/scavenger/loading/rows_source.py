"""Batches that a worker reads by itself, as that takes it less time than to ask another process."""

from __future__ import annotations

import time
from typing import Any, List, Mapping

from scavenger import batches, native
from scavenger.loading.loader_process import Datasets, Request


class RowsSource:
    """Rows of data sets whose batches are read at once (whole_batches.py)."""

    batches_ahead = 0  # the library's own number: these batches take it no time

    def __init__(self, datasets: Datasets) -> None:
        self._datasets = datasets
        self.wait_seconds = 0.0

    def use_limits(self, config: Mapping[str, Any]) -> None:
        """Do nothing: there is no other process that could hang."""

    def open(self, batch: native.Batch) -> None:
        """Begin to use this batch."""
        self._samples = batches.samples_of(batch)
        self._position = batch.first_position
        self.wait_seconds = 0.0

    def expect(self, batch: native.Batch) -> None:
        """Do nothing: the batch is read when it is used."""

    def rows(self, first: int, last: int) -> Any:
        """Return the batch of these rows."""
        start = time.monotonic()
        batch = self._datasets.load(Request(0, self._samples[first:last], self._position + first))
        self.wait_seconds += time.monotonic() - start
        return batch

    def use_micro_batch(self, samples: int) -> None:
        """Do nothing: rows of any number can be had."""

    def numbers(self, first: int, last: int) -> List[int]:
        """Return the numbers of these samples."""
        return self._samples[first:last]
