"""Runs a script as `python script.py` would, and tells of what goes wrong in it."""

from __future__ import annotations

import json
import os
import pathlib
import re
import runpy
import sys
from typing import Any, Dict, Optional, Sequence, Tuple

from scavenger.problems import Failure, UserError, innermost_place, user_error
from scavenger.script import the_script
from scavenger.trainer import seed_everything


def run_script(path: pathlib.Path, arguments: Sequence[str], seed: int) -> None:
    """Run it to its end, seeded, with an empty standard input. Raises UserError, Failure.

    Any exception that is neither becomes a UserError.
    """
    if not path.is_file():
        raise UserError(f"there is no file {path}", "", "correct the path")
    sys.argv = [str(path), *arguments]
    sys.path.insert(0, str(path.parent))
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)
    seed_everything(seed)
    try:
        runpy.run_path(str(path), run_name="__main__")
    except UserError as error:
        error.where = error.where or innermost_place(error)
        raise
    except Failure:
        raise
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            raise UserError(f"the script ended by sys.exit({leaving.code!r})",
                            innermost_place(leaving)) from leaving
    except BaseException as error:  # a KeyboardInterrupt of a worker, too, ends the job
        raise user_error(error, _headline()) from error


def _headline() -> str:
    where = the_script.runner.where() if the_script.runner else ""
    if the_script.place is None:
        return "the script failed before its first batch" + where
    return f"the script failed in iteration {the_script.place.iteration}{where}"


def without_loop() -> UserError:
    """Return the error of a script that ends and has trained nothing."""
    path = pathlib.Path(sys.argv[0])
    remedy = "loop over scavenger.loader(dataset) and call scavenger.step(loss)"
    if re.search(r"^def make_model\(", path.read_text(), re.MULTILINE):
        config = path.with_suffix(".json")
        named = str(config) if config.is_file() else "a configuration that names it as model.file"
        remedy = f"it has make_model() in place of a loop: run scavenger-train with {named}"
    return UserError("the script ended without a loop", str(path), remedy)


def read_ticket(source: int) -> Tuple[int, Dict[str, Any]]:
    """Read the launch ticket; return a file that has it again, and what it says."""
    with os.fdopen(source, "rb") as stream:
        line = stream.readline()
    copy = os.memfd_create("ticket")
    os.write(copy, line)
    os.lseek(copy, 0, os.SEEK_SET)
    try:
        return copy, json.loads(line)
    except ValueError:  # the library says what it expects
        return copy, {}


def take_input(kept: Optional[int] = None) -> int:
    """Put an empty standard input in place of ours and return ours; or put a kept one back."""
    if kept is not None:
        os.dup2(kept, 0)
        os.close(kept)
        return 0
    ours = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return ours
