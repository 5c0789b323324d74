"""The loader processes of a script: forked before the worker has threads, with the script's data.

So nothing has to be pickled but batches, and the data set is in memory once. All are forked at the
beginning, when it is safe; those that are not needed sleep.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any, Callable, Iterator, List, NamedTuple, Optional

from scavenger.loading.loader_pool import MOST_LOADERS, Loader
from scavenger.loading.loader_process import Datasets, answer_requests, watch_worker
from scavenger.loading.whole_batches import rows_of
from scavenger.user_file import UserFile

Collate = Callable[[List[Any]], Any]


class ScriptData(NamedTuple):
    """A data set of a script, and how a batch is made of its samples."""

    samples: Any  # with __len__ and __getitem__
    collate: Optional[Collate]


def _no_model() -> Any:
    raise AssertionError("loader processes make no model")


def datasets_of_rows(path: pathlib.Path, seed: int, training: ScriptData,
                     test: Optional[ScriptData]) -> Optional[Datasets]:
    """Return the data sets if the script's own process reads their batches best, else None."""
    splits = {"train": training, "test": test or training}
    for data in splits.values():
        if rows_of(data.samples, data.collate or training.collate) is None:
            return None
    file = UserFile(path=path, make_model=_no_model,
                    make_dataset=lambda split: splits[split].samples)
    datasets = Datasets(file, seed, len(training.samples))
    datasets.make_all()
    return datasets


def _functions(path: pathlib.Path, training: ScriptData, test: Optional[ScriptData]) -> UserFile:
    """Return the script's data as functions of a model's file."""
    def make_dataset(split: str) -> Any:
        if split == "train":
            return training.samples
        assert test is not None
        return test.samples

    return UserFile(path=path, make_model=_no_model, make_dataset=make_dataset,
                    collate=training.collate, test_collate=test.collate if test else None)


def _serve(path: pathlib.Path, seed: int, training: ScriptData, test: Optional[ScriptData],
           questions: Any, requests: Any, results: Any) -> None:
    watch_worker(questions)
    datasets = Datasets(_functions(path, training, test), seed, len(training.samples))
    answer_requests(datasets, None, str(path), requests, results)


def forked_loaders(path: pathlib.Path, seed: int, training: ScriptData,
                   test: Optional[ScriptData]) -> Iterator[Loader]:
    """Fork the processes, as many as may be needed."""
    arguments = (path, seed, training, test)
    count = min(MOST_LOADERS, os.cpu_count() or 1)
    return iter([Loader("fork", _serve, arguments) for _ in range(count)])
