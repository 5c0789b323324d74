"""Errors that the user can mend, and how an exception in a user's function is told."""

from __future__ import annotations

import contextlib
import pathlib
import re
import sys
import traceback
from typing import Callable, Iterable, Iterator, List, Optional, Sequence

PACKAGE = str(pathlib.Path(__file__).parent)
MOST_SAMPLES_TOLD = 8


class UserError(Exception):
    """Something that the user gave is wrong: what, where, and what to do about it.

    If it was an exception in the user's code, `what` ends with it in one line, `headline` is the
    same without it, and `traceback` is what Python would print.
    """

    def __init__(self, what: str, where: str = "", remedy: str = "", *, headline: str = "",
                 traceback: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.remedy = remedy
        self.headline = headline or what
        self.traceback = traceback

    def __str__(self) -> str:
        """Return what is wrong and what to do, for a program that does not catch it."""
        return f"{self.what}; {self.remedy}" if self.remedy else self.what

    def line(self) -> str:
        """Return all of it as one line."""
        where = f"{self.where}: " if self.where else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{where}{self.what}{remedy}"


class Failure(Exception):
    """Something went wrong that is not in what the user gave: what, and what to do about it."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether PyTorch or Python reports a lack of memory."""
    text = str(error)
    return isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text


def sample_text(samples: Sequence[int]) -> str:
    """Return the numbers of some samples for a message."""
    told = ", ".join(str(number) for number in samples[:MOST_SAMPLES_TOLD])
    rest = len(samples) - MOST_SAMPLES_TOLD
    return told + (f" and {rest} more" if rest > 0 else "")


def _users(frames: Iterable[traceback.FrameSummary]) -> List[traceback.FrameSummary]:
    return [frame for frame in frames if not frame.filename.startswith((PACKAGE, "<frozen "))]


def _user_frames(error: BaseException) -> List[traceback.FrameSummary]:
    return _users(traceback.extract_tb(error.__traceback__))


def stack_text(frames: Sequence[traceback.FrameSummary]) -> str:
    """Return where a thread is, as Python prints it, from the user's first frame on."""
    shown = list(frames)
    while shown and not _users(shown[:1]):
        shown.pop(0)
    begun = [index for index, frame in enumerate(shown) if frame.filename.startswith(PACKAGE)]
    if begun:  # what is above this package is multiprocessing's
        shown = shown[begun[-1] + 1:]
    return "".join(["Stack (most recent call last):\n", *traceback.format_list(shown)]).rstrip()


def own_traceback(error: BaseException) -> str:
    """Return the traceback as Python prints it, without the frames of this package."""
    frames = _user_frames(error)
    head = ["Traceback (most recent call last):\n"] if frames else []
    lines = head + traceback.format_list(frames)
    lines += traceback.format_exception_only(type(error), error)
    return "".join(lines).rstrip()


def innermost_place(error: BaseException) -> str:
    """Return where the user's code raised it, as "train.py, line 9, in loss"."""
    frames = _user_frames(error)
    # A library is asked to do what it cannot do: the line that asks is the one to mend.
    own = [frame for frame in frames if not re.search("(site|dist)-packages", frame.filename)]
    frames = own or frames
    return f"{frames[-1].filename}, line {frames[-1].lineno}, in {frames[-1].name}" if frames else ""


def user_error(error: BaseException, headline: str) -> UserError:
    """Return the error that tells of an exception in the user's code."""
    cause = " ".join("".join(traceback.format_exception_only(type(error), error)).split())
    return UserError(f"{headline}: {cause}", innermost_place(error), headline=headline,
                     traceback=own_traceback(error))


@contextlib.contextmanager
def blaming(function: str, where: Optional[Callable[[], str]] = None) -> Iterator[None]:
    """Turn what a user's function raises within this block into a UserError of one line.

    The traceback goes to standard error: of scavenger-train before the job, else to the worker's log.
    """
    try:
        yield
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        if not is_out_of_memory(error):  # then the pass may be tried again with fewer samples
            print(own_traceback(error), file=sys.stderr, flush=True)
        raise user_error(error, function + " failed" + (where() if where else "")) from error
