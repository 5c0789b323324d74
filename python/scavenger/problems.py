"""Errors that the user can mend, and how an exception in a user's function is told."""

from __future__ import annotations

import contextlib
import pathlib
import sys
import traceback
from typing import Callable, Iterator, List, Optional, Sequence

PACKAGE = str(pathlib.Path(__file__).parent)
MOST_SAMPLES_TOLD = 8


class UserError(Exception):
    """Something that the user gave is wrong: what, where, and what to do about it."""

    def __init__(self, what: str, where: str = "", remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.remedy = remedy

    def line(self) -> str:
        """Return all of it as one line."""
        where = f"{self.where}: " if self.where else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{where}{self.what}{remedy}"


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether PyTorch or Python reports a lack of memory."""
    text = str(error)
    return isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text


def sample_text(samples: Sequence[int]) -> str:
    """Return the numbers of some samples for a message."""
    told = ", ".join(str(number) for number in samples[:MOST_SAMPLES_TOLD])
    rest = len(samples) - MOST_SAMPLES_TOLD
    return told + (f" and {rest} more" if rest > 0 else "")


def _own_frames(error: BaseException) -> List[traceback.FrameSummary]:
    """Return the frames that are neither of this package nor of Python's import."""
    return [frame for frame in traceback.extract_tb(error.__traceback__)
            if not frame.filename.startswith((PACKAGE, "<frozen importlib"))]


def own_traceback(error: BaseException) -> str:
    """Return the traceback as Python prints it, without the frames of this package."""
    frames = _own_frames(error)
    head = ["Traceback (most recent call last):\n"] if frames else []
    lines = head + traceback.format_list(frames)
    lines += traceback.format_exception_only(type(error), error)
    return "".join(lines).rstrip()


def innermost_place(error: BaseException) -> str:
    """Return where the user's code raised it, as "train.py, line 9, in loss"."""
    frames = _own_frames(error)
    return f"{frames[-1].filename}, line {frames[-1].lineno}, in {frames[-1].name}" if frames else ""


@contextlib.contextmanager
def blaming(function: str, where: Optional[Callable[[], str]] = None) -> Iterator[None]:
    """Turn what a user's function raises within this block into a UserError of one line.

    The traceback goes to standard error: of scavenger-train before the job, else to the worker's log.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        place = where() if where else ""
        if not is_out_of_memory(error):  # then the pass may be tried again with fewer samples
            print(own_traceback(error), file=sys.stderr, flush=True)
        cause = " ".join("".join(traceback.format_exception_only(type(error), error)).split())
        raise UserError(f"{function} failed{place}: {cause}", innermost_place(error)) from error
