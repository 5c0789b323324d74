"""Lets the library's thread ask the script's thread, and wait for its answer."""

from __future__ import annotations

import queue
from typing import Any, Callable, NamedTuple, Optional


class Pass(NamedTuple):
    """A batch that the script is to compute the gradient of. Its contents live until the answer."""

    worker: Any
    batch: Any
    random_key: int
    step: Any


class Call(NamedTuple):
    """A function that is to be called on the script's thread."""

    function: Callable[[], None]


class End(NamedTuple):
    """The library has ended this worker, or itself: then there is an exit code.

    `place` is where the job has ended, if this worker trained until then.
    """

    place: Any
    exit_code: Optional[int]


class Handover:
    """One request at a time goes to the script, and one answer back: None, or what it raised."""

    def __init__(self) -> None:
        self._requests: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self._answers: "queue.SimpleQueue[Optional[BaseException]]" = queue.SimpleQueue()

    def ask(self, request: Any) -> None:
        """Wait until the script has answered, and raise what it raised. Thread: the library's."""
        self._requests.put(request)
        failure = self._answers.get()
        if failure is not None:
            raise failure

    def tell(self, request: Any) -> None:
        """Leave a request that needs no answer. Thread: any."""
        self._requests.put(request)

    def next(self) -> Any:
        """Wait for the next request. Thread: the script's."""
        return self._requests.get()

    def answer(self, failure: Optional[BaseException] = None) -> None:
        """Answer the request of next(). Thread: the script's."""
        self._answers.put(failure)
