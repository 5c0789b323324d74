"""The commands that the wheel installs: each becomes the program of that name, in this Python."""

from __future__ import annotations

import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent / "bin"


def main() -> None:
    """Replace this process by the program that it was called as."""
    program = FOLDER / pathlib.Path(sys.argv[0]).name
    os.environ.setdefault("SCAVENGER_PYTHON", sys.executable)
    os.execv(program, [str(program), *sys.argv[1:]])
