"""What a loader process does: it makes batches of the user's own data set."""

from __future__ import annotations

import hashlib
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import sys
import threading
import traceback
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

import torch
from torch.utils.data import default_collate

from scavenger import user_file
from scavenger.loading import whole_batches
from scavenger.loading.default_batches import default_batch
from scavenger.problems import UserError, blaming, sample_text, stack_text
from scavenger.trainer import seed_everything


class Request(NamedTuple):
    """Samples to be loaded as one batch."""

    number: int
    samples: List[int]  # numbers; those of the test data follow those of the training data
    first_position: int  # in the job's order, which decides the random numbers of each sample


class Loaded(NamedTuple):
    """The batch, or what went wrong."""

    number: int
    batch: Any
    problem: Optional[str]
    where: str = ""
    remedy: str = ""
    headline: str = ""
    traceback: str = ""
    samples: Optional[List[int]] = None  # if they are others than those of the request


class Datasets:
    """The two splits, each made when its first sample is needed."""

    def __init__(self, file: user_file.UserFile, seed: int, train_samples: int) -> None:
        self._file = file
        self.numbers: Optional[List[int]] = None  # of the samples that were loaded last
        self._seed = seed
        self._train_samples = train_samples
        self._made: Dict[str, Any] = {}
        self._rows: Dict[str, Optional[whole_batches.Rows]] = {}

    def make_all(self) -> None:
        """Make both data sets now. Raises UserError."""
        for split in ("train", "test"):
            self._dataset(split)

    def load(self, request: Request) -> Any:
        """Return the collated batch. Raises UserError."""
        batch = self._whole(request)
        if batch is not None:
            return batch
        samples = []
        numbers = []
        for offset, number in enumerate(request.samples):
            index, sample = self._sample(number, request.first_position + offset)
            samples.append(sample)
            numbers.append(index)
        self.numbers = numbers if numbers != request.samples else None
        return self._batch_of(samples, numbers)

    def _batch_of(self, samples: List[Any], numbers: List[int]) -> Any:
        """Return what the collate function makes of these samples."""
        collate = self._collate_of(self._split_of(numbers[0]))

        def where() -> str:
            return f" on samples {sample_text(numbers)}"

        if collate is None or collate is default_collate:
            return default_batch(samples, lambda offset: self._name_of(numbers[offset]), where)
        with blaming("collate()", where):
            return collate(samples)

    def _collate_of(self, split: str) -> Optional[Callable[[List[Any]], Any]]:
        file = self._file
        return file.collate if split == "train" else file.test_collate or file.collate

    def _split_of(self, number: int) -> str:
        return "train" if number < self._train_samples else "test"

    def _index_of(self, number: int) -> int:
        """Return the number that a sample has in the data set of its split."""
        return number if number < self._train_samples else number - self._train_samples

    def _name_of(self, number: int) -> str:
        return f"sample {self._index_of(number)} of the {self._split_of(number)} data set"

    def _whole(self, request: Request) -> Any:
        """Return the batch if it can be read at once, or None."""
        split = self._split_of(request.samples[0])
        if any(self._split_of(number) != split for number in request.samples):
            return None
        self._dataset(split)
        rows = self._rows[split]
        if rows is None:
            return None
        self.numbers = None
        numbers = torch.tensor(request.samples) - (0 if split == "train" else self._train_samples)
        with blaming(f"the {split} data set", lambda: f" at samples {sample_text(numbers.tolist())}"):
            return rows(numbers)

    def _sample(self, number: int, position: int) -> Tuple[int, Any]:
        split, index = self._split_of(number), self._index_of(number)
        dataset = self._dataset(split)  # before the seed, which its making may change
        seed_everything(self._key(position))
        if split == "train" and hasattr(dataset, "at_position"):  # it has an order of its own
            with blaming("the train data set", lambda: f" at position {position}"):
                index, sample = dataset.at_position(position)
                return int(index), sample
        with blaming(f"the {split} data set", lambda: f" at sample {index}"):
            return number, dataset[index]

    def _dataset(self, split: str) -> Any:
        if split not in self._made:
            assert self._file.make_dataset is not None
            torch.manual_seed(self._seed)
            with blaming(f'make_dataset("{split}")'):
                dataset = self._file.make_dataset(split)
            if split == "train" and len(dataset) != self._train_samples:
                raise UserError(f"the training data have {len(dataset)} samples, and had "
                                f"{self._train_samples} when the job began", "",
                                "put them back, or begin a new job")
            if hasattr(dataset, "use_seed"):
                dataset.use_seed(self._seed)
            self._made[split] = dataset
            self._rows[split] = whole_batches.rows_of(dataset, self._collate_of(split))
        return self._made[split]

    def _key(self, position: int) -> int:
        text = f"{self._seed} {position}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1


def _watch(questions: Any, main_thread: int) -> None:
    """End this process when the worker has ended, however that was, and whatever is loading.

    A question is answered by what the loading thread is doing.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    while True:
        ready = multiprocessing.connection.wait([parent.sentinel, questions])
        if parent.sentinel in ready:
            os._exit(0)
        try:
            questions.recv()
        except (EOFError, ConnectionError):
            os._exit(0)
        frame = sys._current_frames().get(main_thread)
        questions.send(stack_text(traceback.extract_stack(frame)) if frame else "")


def watch_worker(questions: Any) -> None:
    """Prepare this process: it ends with its worker, and computes with one thread."""
    threading.Thread(target=_watch, args=(questions, threading.get_ident()), daemon=True).start()
    torch.set_num_threads(1)


def _file_of(path: str, data: Optional[Mapping[str, Any]]) -> user_file.UserFile:
    """Import the user's file, which may import large libraries, only if it is needed."""
    if path:
        return user_file.load(pathlib.Path(path), data)
    assert data is not None
    return user_file.of_data(data)


def run(path: str, data: Optional[Mapping[str, Any]], seed: int, train_samples: int,
        questions: Any, requests: Any, results: Any) -> None:
    """Import the file and load its data, until there is a None or nobody reads the results.

    `path` is empty if the samples are loaded without the user's file.
    """
    watch_worker(questions)
    datasets: Optional[Datasets] = None
    failure: Optional[UserError] = None
    try:
        datasets = Datasets(_file_of(path, data), seed, train_samples)
    except UserError as error:
        failure = error
    answer_requests(datasets, failure, path, requests, results)


def answer_requests(datasets: Optional[Datasets], failure: Optional[UserError], path: str,
                    requests: Any, results: Any) -> None:
    """Answer each request with a batch, or with `failure` if there are no data sets."""
    while True:
        request = requests.get()
        if request is None:
            return
        try:
            if datasets is None:
                assert failure is not None
                raise failure
            batch = datasets.load(request)
            answer = Loaded(request.number, batch, None, samples=datasets.numbers)
        except UserError as error:
            answer = Loaded(request.number, None, error.what, error.where, error.remedy,
                            headline=error.headline, traceback=error.traceback)
        try:
            results.send(answer)
        except (BrokenPipeError, ConnectionError):
            return
        except Exception as error:  # the batch cannot be pickled
            results.send(Loaded(request.number, None,
                                f"a batch cannot be sent from a loader process: {error}", path,
                                "have collate() return tensors, numbers, lists or dictionaries"))
