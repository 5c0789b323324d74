"""Makes a script of a function that a notebook or another program has: scavenger.run(function)."""

from __future__ import annotations

import pathlib
import re
import sys
from typing import Any, Callable

from scavenger.problems import UserError

SCRIPT = '''"""Written by scavenger.run(): calls the function that it was given."""

import pathlib
import sys

sys.path[1:1] = {path!r}

import cloudpickle

function = cloudpickle.loads(pathlib.Path(__file__).with_suffix(".pickle").read_bytes())
function(*sys.argv[1:])
'''


def name_of(function: Callable[..., Any]) -> str:
    """Return what its job is called."""
    found = re.sub(r"\W", "", getattr(function, "__name__", ""))
    return found or "function"


def write_script(function: Callable[..., Any], path: pathlib.Path) -> None:
    """Write the script, and the function with all that it uses of this program beside it.

    What the function uses is copied as it is now: a model that it changes is not this program's.
    Raises UserError if it cannot be copied.
    """
    try:
        import cloudpickle
    except ImportError as error:
        raise UserError(f"functions are written with the library cloudpickle: {error}",
                        "scavenger.run()", "install it: python3 -m pip install cloudpickle; or "
                        "write the function to a script (%%writefile train.py)") from error
    try:
        content = cloudpickle.dumps(function)
    except Exception as error:
        raise UserError(f"{name_of(function)} cannot be copied: {type(error).__name__}: {error}",
                        "scavenger.run()", "make open files, generators and the like within the "
                        "function") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".pickle").write_bytes(content)
    folders = [str(pathlib.Path(folder).absolute()) for folder in sys.path if folder != ""]
    path.write_text(SCRIPT.format(path=[str(pathlib.Path.cwd()), *folders]))
