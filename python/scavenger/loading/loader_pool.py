"""The loader processes of one worker. Threads would contend with training for Python's lock."""

from __future__ import annotations

import itertools
import math
import os
import pathlib
import signal
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Set, Tuple

import torch.multiprocessing

from scavenger import batches, native
from scavenger.loading import early_fork_server
from scavenger.loading.loader_process import Loaded, Request, run
from scavenger.problems import Failure, UserError, sample_text

MOST_LOADERS = 8
BATCHES_AHEAD = 6
WAIT_SHARE = 0.05  # of the time, above which another loader process is started
JUDGED_SECONDS = 2.0
SAYS_SECONDS = 60.0
ANSWER_SECONDS = 10.0
HANG_SHARE = 0.5  # of limits.iteration_seconds, after which a loader process hangs
KILLS_LIMIT = 3  # processes that are killed in a row, of which the last one ends the job
# Exit codes. With the latter multiprocessing says that the process that loaders are forked from was
# killed, or is killed now, so that nobody knows how a loader process has ended.
KILLED = (-signal.SIGKILL, 255)
Key = Tuple[int, ...]
TRAINING = "training"
EVALUATION = "evaluation"


class LoaderLost(Failure):
    """A loader process crashed, or was killed again and again."""


class Loader:
    """One process, with its requests and results."""

    def __init__(self, method: str, target: Callable[..., None], arguments: Tuple[Any, ...]) -> None:
        context: Any = torch.multiprocessing.get_context(method)
        self.requests = context.Queue()
        self.results, theirs = context.Pipe(duplex=False)
        self._questions, asked = context.Pipe()
        self.process = context.Process(
            target=target, args=(*arguments, asked, self.requests, theirs), daemon=True)
        self.process.start()
        theirs.close()
        asked.close()
        self.waiting = 0

    def stack(self) -> str:
        """Return what the process is doing, or nothing if it does not answer."""
        try:
            self._questions.send(None)
            return str(self._questions.recv()) if self._questions.poll(ANSWER_SECONDS) else ""
        except (EOFError, OSError):
            return ""


def importing_loaders(path: Optional[pathlib.Path], seed: int, train_samples: int,
                      data: Optional[Mapping[str, Any]] = None) -> Iterator[Loader]:
    """Start processes that import the file and make the data set, one whenever it is asked for.

    They are neither forked from a process with threads, nor in need of a data set that can be
    pickled. `path` is None if the samples are loaded without the user's file.
    """
    context: Any = torch.multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([run.__module__])  # PyTorch is imported once for all of them
    early_fork_server.use()
    arguments = (str(path or ""), data, seed, train_samples)
    while True:
        yield _importing_loader(arguments)


def _importing_loader(arguments: Tuple[Any, ...]) -> Loader:
    """Start a process, though the one that it is forked from may just have been killed.

    multiprocessing starts that one again, but only when it has seen its end.
    """
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        try:
            return Loader("forkserver", run, arguments)
        except (ConnectionError, EOFError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


class LoaderPool:
    """Loads batches ahead of their use, in the order of the requests.

    `request` may be called on any thread, all else on the thread that trains.
    """

    def __init__(self, starts: Iterator[Loader]) -> None:
        self._starts = starts
        self._loaders = [next(starts)]
        self.numbers: Optional[List[int]] = None  # of the batch taken last, if it has its own
        self._lock = threading.Lock()  # of the fields below; never held while something blocks
        self._pending: Dict[str, Dict[Key, Tuple[int, Loader]]] = {TRAINING: {}, EVALUATION: {}}
        self._dropped: Set[int] = set()
        self._arrived: Dict[int, Loaded] = {}
        self._next = 0
        self._begin = time.monotonic()
        self._waited = 0.0
        self._kills = 0  # of loader processes, in a row
        self.hang_seconds = math.inf

    def use_limits(self, config: Mapping[str, Any]) -> None:
        """Take a loader process that does not answer in time for one that hangs."""
        self.hang_seconds = HANG_SHARE * float(config["limits"]["iteration_seconds"])

    def request(self, kind: str, samples: List[int], first_position: int) -> None:
        """Begin to load these samples, for TRAINING or EVALUATION."""
        with self._lock:
            key = (first_position, *samples)
            if key not in self._pending[kind]:
                self._pending[kind][key] = self._send(samples, first_position)

    def _send(self, samples: List[int], first_position: int) -> Tuple[int, Loader]:
        loader = min(self._loaders, key=lambda each: each.waiting)
        loader.waiting += 1
        self._next += 1
        loader.requests.put(Request(self._next, samples, first_position))
        return self._next, loader

    def _claim(self, kind: str, samples: List[int], first_position: int) -> Tuple[int, Loader]:
        key = (first_position, *samples)
        with self._lock:
            pending = self._pending[kind]
            if key not in pending:  # nobody knew: half a batch, or the first one
                return self._send(samples, first_position)
            # Batches are used in the order of their requests, so earlier ones are needed no more.
            for other in list(pending):
                if other == key:
                    break
                number, _ = pending.pop(other)
                if self._arrived.pop(number, None) is None:
                    self._dropped.add(number)
            return pending.pop(key)

    def take(self, kind: str, samples: List[int], first_position: int) -> Any:
        """Return the batch of these samples. Raises UserError, LoaderLost."""
        start = time.monotonic()
        number, loader = self._claim(kind, samples, first_position)
        while number not in self._arrived:
            try:
                self._receive(loader, samples)
            except (EOFError, ConnectionError, FileNotFoundError) as error:
                loader = self._replace(loader, Request(number, samples, first_position), error)
        loaded = self._arrived.pop(number)
        self._judge(time.monotonic() - start)
        if loaded.problem is not None:
            raise UserError(loaded.problem, loaded.where, loaded.remedy,
                            headline=loaded.headline, traceback=loaded.traceback)
        self.numbers = loaded.samples
        return loaded.batch

    def _receive(self, loader: Loader, samples: List[int]) -> None:
        waited = 0.0
        while not loader.results.poll(min(SAYS_SECONDS, self.hang_seconds - waited)):
            waited += min(SAYS_SECONDS, self.hang_seconds - waited)
            if waited >= self.hang_seconds:
                raise UserError(f"a loader process has taken {waited:.0f} s for samples "
                                f"{sample_text(samples)}, and counts as hung", "",
                                "see where its stack is; a slow one needs a longer "
                                "limits.iteration_seconds", traceback=loader.stack())
            print(f"a loader process has taken {waited:.0f} s for samples {sample_text(samples)}",
                  file=sys.stderr, flush=True)
        loaded = loader.results.recv()
        self._kills = 0
        with self._lock:
            loader.waiting -= 1
            if loaded.number in self._dropped:
                self._dropped.remove(loaded.number)
                return
        self._arrived[loaded.number] = loaded

    def _replace(self, lost: Loader, awaited: Request, error: Exception) -> Loader:
        """Have another process go on for one that was killed. Raises LoaderLost.

        A crash is not tried again: it would come again. `error` is what the loss was noticed by.
        """
        lost.process.join(1.0)
        code = lost.process.exitcode
        is_killed = code in KILLED
        self._kills += is_killed
        reason = " (killed: perhaps memory ran out)" if is_killed else ""
        what = (f"a loader process ended with exit code {code}{reason} while it loaded samples "
                f"{sample_text(awaited.samples)}")
        others = [loader for loader in self._loaders if loader is not lost]
        is_tried_again = is_killed and self._kills < KILLS_LIMIT
        if is_tried_again:
            others += itertools.islice(self._starts, 1)
        if not is_tried_again or not others:
            remedy = ("use less memory: smaller samples or batches, or fewer workers" if is_killed
                      else "see what it wrote in the worker's log")
            raise LoaderLost(what, remedy) from error
        print(f"{what}; another process loads them", file=sys.stderr, flush=True)
        lost.requests.cancel_join_thread()
        with self._lock:
            self._loaders = others
            self._move_requests(lost, others[-1], awaited)
        return others[-1]

    def _move_requests(self, lost: Loader, loader: Loader, awaited: Request) -> None:
        """Have a process load what another one has not answered; the awaited batch comes first."""
        again = [awaited]
        for pending in self._pending.values():
            for key, (number, asked) in pending.items():
                if asked is lost and number not in self._arrived:
                    pending[key] = (number, loader)
                    again.append(Request(number, list(key[1:]), key[0]))
        for request in again:
            loader.waiting += 1
            loader.requests.put(request)

    def _judge(self, waited: float) -> None:
        """Start another process if training waits for samples."""
        self._waited += waited
        passed = time.monotonic() - self._begin
        if passed < JUDGED_SECONDS:
            return
        most = min(MOST_LOADERS, os.cpu_count() or 1)
        if self._waited > WAIT_SHARE * passed and len(self._loaders) < most:
            loader = next(self._starts, None)
            if loader is not None:
                with self._lock:
                    self._loaders.append(loader)
        self._begin, self._waited = time.monotonic(), 0.0


class BuiltInSource:
    """Rows of Scavenger's own data formats, in the library's memory."""

    wait_seconds = 0.0

    def __init__(self) -> None:
        self._views = batches.BatchViews()

    def open(self, batch: native.Batch) -> None:
        """Begin to use this batch."""
        self._tensors = self._views.of(batch)
        self._position = batch.first_position

    def rows(self, first: int, last: int) -> Any:
        """Return rows of the batch."""
        return batches.rows(self._tensors, first, last)

    def use_micro_batch(self, samples: int) -> None:
        """Do nothing: rows of any number can be had."""

    def numbers(self, first: int, last: int) -> List[int]:
        """Return the positions of these rows in the job's order."""
        return list(range(self._position + first, self._position + last))


class PoolSource:
    """Rows of the user's own data set, from the loader processes."""

    batches_ahead = BATCHES_AHEAD

    def __init__(self, pool: LoaderPool, ends: List[int], micro_batch: int) -> None:
        self.pool = pool
        self._ends = ends  # the number after the last sample of each split
        self._micro_batch = micro_batch
        self.wait_seconds = 0.0

    def open(self, batch: native.Batch) -> None:
        """Begin to use this batch."""
        self._samples = batches.samples_of(batch)
        self._position = batch.first_position
        self._is_training = bool(batch.is_for_training)
        self.wait_seconds = 0.0

    def use_limits(self, config: Mapping[str, Any]) -> None:
        """Take a loader process that does not answer in time for one that hangs."""
        self.pool.use_limits(config)

    def expect(self, batch: native.Batch) -> None:
        """Begin to load a batch of the training."""
        samples = batches.samples_of(batch)
        most = self._micro_batch or batch.size
        passes = (batch.size + most - 1) // most
        for index in range(passes):
            first, last = batch.size * index // passes, batch.size * (index + 1) // passes
            self.pool.request(TRAINING, samples[first:last], batch.first_position + first)

    def rows(self, first: int, last: int) -> Any:
        """Return the user's own batch of these rows."""
        samples = self._samples[first:last]
        start = time.monotonic()
        kind = TRAINING if self._is_training else EVALUATION
        batch = self.pool.take(kind, samples, self._position + first)
        self.wait_seconds += time.monotonic() - start
        if not self._is_training:
            self._load_ahead(samples, self._position + first)
        return batch

    def _load_ahead(self, samples: List[int], position: int) -> None:
        """Begin with the batch that most likely follows in an evaluation."""
        first = samples[-1] + 1
        end = next(end for end in self._ends if samples[-1] < end)
        if first < end:
            last = min(first + len(samples), end)
            self.pool.request(EVALUATION, list(range(first, last)), position + len(samples))

    def use_micro_batch(self, samples: int) -> None:
        """Announce passes of at most so many samples from now on."""
        self._micro_batch = samples

    def numbers(self, first: int, last: int) -> List[int]:
        """Return the numbers of these samples."""
        return self.pool.numbers or self._samples[first:last]
