"""C++ is formatted as .clang-format says, by one version of clang-format: others format differently."""

import pathlib
import re
import shutil
import subprocess
import sys

from source_tree import CPP_SUFFIXES, Finding

VERSION = "18.1.8"
PROJECT = pathlib.Path(__file__).resolve().parents[2]


class NoFormatter(Exception):
    """This machine has no clang-format of the right version."""


def formatter():
    for candidate in (PROJECT / ".venv/bin/clang-format", pathlib.Path(sys.executable).parent / "clang-format",
                      shutil.which("clang-format")):
        if candidate and pathlib.Path(candidate).exists():
            version = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False).stdout
            if re.search(rf"version {re.escape(VERSION)}\b", version):
                return str(candidate)
    raise NoFormatter(f"no clang-format {VERSION} here: scripts/setup.sh --test installs it")


def findings(tree):
    paths = tree.files(*CPP_SUFFIXES)
    if not paths:
        return []
    style = f"--style=file:{PROJECT / '.clang-format'}"
    run = subprocess.run([formatter(), style, "--dry-run", "-Werror", *paths], cwd=tree.root, capture_output=True,
                         text=True, check=False)
    first_lines = {}
    for path, line in re.findall(r"^([^:\n]+):(\d+):\d+: error:", run.stderr, re.MULTILINE):
        first_lines.setdefault(path, int(line))
    if run.returncode != 0 and not first_lines:
        raise RuntimeError(f"clang-format failed: {run.stderr}")
    return [Finding(path, line, "not formatted", f".venv/bin/clang-format -i {path}")
            for path, line in first_lines.items()]
