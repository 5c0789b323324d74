"""Runs a script as a job from Python: from a notebook, or another program."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from scavenger.function_script import name_of, write_script
from scavenger.problems import UserError

PROGRAM = "scavenger-train"
FIRST_FREE = 1000  # run folders that are tried: runs/train, runs/train-2, ...
INTERRUPTED = 130


class Run(NamedTuple):
    """A job that has ended in order."""

    folder: pathlib.Path
    exit_code: int  # 0, or 130 after an interrupt
    report: Dict[str, Any]  # docs/report.md


def program() -> str:
    """Return the path of scavenger-train. Raises UserError."""
    package = pathlib.Path(__file__).parent
    beside = os.environ.get("SCAVENGER_PROGRAMS")
    folders = [package / "bin", package.parents[3] / "bin"]  # of the wheel, or of a build
    for folder in [pathlib.Path(beside)] if beside else folders:
        if (folder / PROGRAM).is_file():
            return str(folder / PROGRAM)
    found = shutil.which(PROGRAM)
    if found is None:
        raise UserError(f"there is no {PROGRAM}", "scavenger.run()",
                        "install the wheel, or put the programs of a build on PATH")
    return found


def _free_folder(script: pathlib.Path) -> pathlib.Path:
    for number in range(1, FIRST_FREE):
        folder = pathlib.Path("runs") / (script.stem + (f"-{number}" if number > 1 else ""))
        if not folder.exists():
            return folder
    raise UserError(f"there are {FIRST_FREE} runs of {script.stem}", "runs", "remove some")


def _words(script: pathlib.Path, arguments: List[str], folder: pathlib.Path,
           options: Mapping[str, Any], settings: Mapping[str, Any]) -> List[str]:
    words = [program(), str(script), "--run", str(folder)]
    for name, value in options.items():
        if value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    for key, value in settings.items():
        words += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    return words + (["--", *arguments] if arguments else [])


def _follow(words: List[str]) -> int:
    """Run the program, print what it prints, and return its exit code.

    If this process is killed, such as a notebook's, the job ends in order, with a checkpoint.
    """
    watched = [sys.executable, "-I", "-S", str(pathlib.Path(__file__).with_name("launched.py")),
               str(os.getpid())]
    environment = {"SCAVENGER_PYTHON": sys.executable, **os.environ}
    with subprocess.Popen(watched + words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, env=environment,
                          start_new_session=True) as process:
        assert process.stdout is not None
        while True:
            try:
                for line in process.stdout:
                    print(line, end="", flush=True)
                return process.wait()
            except KeyboardInterrupt:  # the job ends in order, with a checkpoint
                process.send_signal(signal.SIGINT)


def run(script: "str | os.PathLike[str] | Callable[..., Any]", *arguments: str, workers: Optional[int] = None,
        batch_size: Optional[int] = None, search: Optional[str] = None,
        policy: Optional[str] = None, run: "str | os.PathLike[str] | None" = None,
        settings: Optional[Mapping[str, Any]] = None) -> Run:
    """Run a script with a loop of its own as a job, and wait for its end.

    The script may be a function, such as one of a notebook: then it is written, with all that it
    uses, beside the run folder. `arguments` are the script's own. `settings` are those of the job's configuration:
    `{"stop.max_epochs": 3}`. An interrupt, such as a notebook's stop button, ends the job with a
    checkpoint. Raises UserError if the job fails.
    """
    path = pathlib.Path(name_of(script) if callable(script) else script)
    folder = pathlib.Path(run) if run is not None else _free_folder(path)
    if callable(script):
        path = folder.parent / f"{folder.name}.py"
        write_script(script, path)
    options = {"workers": workers, "batch_size": batch_size, "search": search, "policy": policy}
    code = _follow(_words(path, list(arguments), folder, options, settings or {}))
    if code not in (0, INTERRUPTED):
        raise UserError(f"the job ended with exit code {code}; what it said is above", str(path))
    report = folder / "report.json"
    return Run(folder, code, json.loads(report.read_text()) if report.is_file() else {})
