"""Runs a script up to its first batch, and writes the configuration of its job."""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys
from typing import Any, Dict, Iterator, List, Mapping

import torch

from scavenger.problems import UserError
from scavenger.script import the_script
from scavenger.script_run import run_script, without_loop

DEFAULT_BATCH_SIZE = 64
NAME_LIMIT = 64  # characters of a job's name
# What comes before a script's loop, and after it, takes as long as the script wants.
LIMITS = {"start_seconds": 600.0, "stop_seconds": 60.0}
SEED = 1


def _name_of(path: pathlib.Path) -> str:
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", path.stem).lstrip("-.")[:NAME_LIMIT]
    return name or "script"


def _source(samples: int, first: int = 0) -> Dict[str, Any]:
    source: Dict[str, Any] = {"format": "python", "samples": samples}
    if first > 0:
        source["first_sample"] = first
    return source


def _configuration(path: pathlib.Path, arguments: List[str]) -> Dict[str, Any]:
    script = the_script
    assert script.training is not None
    train = len(script.training.data.samples)
    batch_size = script.training.batch_size
    if batch_size is None:
        batch_size = min(DEFAULT_BATCH_SIZE, train)
    test = script.evaluation
    # Each job has a test split. Nothing reads this one where the script evaluates nothing.
    test_samples = len(test.data.samples) if test else 1
    data: Dict[str, Any] = {"train": _source(train), "test": _source(test_samples, train)}
    if test and test.classes:
        data["classes"] = test.classes
    evaluation: Dict[str, Any] = {"enabled": test is not None}
    if test:
        evaluation["batch_size"] = batch_size if test.batch_size is None else test.batch_size
    model = {"type": "python", "file": str(path), "loop": "script", "arguments": arguments}
    found = {"name": _name_of(path), "data": data, "model": model, "optimizer": script.optimizer,
             "batch_size": batch_size, "stop": script.training.stop, "evaluation": evaluation,
             "limits": LIMITS}
    if script.stepped_here is not None:
        found["sync"] = {"strategy": "all_reduce"}
    return found


class Describing:
    """Ends this process at the first batch, with the configuration as the last line of output."""

    def __init__(self, path: pathlib.Path, arguments: List[str], output: int) -> None:
        self._path = path
        self._arguments = arguments
        self._output = output

    def batches(self) -> Iterator[Any]:
        """Write the configuration and end."""
        try:
            found = json.dumps(_configuration(self._path, self._arguments), allow_nan=False)
        except ValueError as error:
            raise UserError("a number of the loader or the optimizer is not finite", "",
                            "look at epochs, the learning rate and the schedule") from error
        text = "\n" + found + "\n"
        sys.stderr.flush()
        os.write(self._output, text.encode())
        os._exit(0)

    def step(self, loss: torch.Tensor, backward: bool) -> bool:
        """Refuse: there was no batch."""
        raise UserError("scavenger.step() was called outside of the loop", "",
                        "call it once for each batch of scavenger.loader()")

    def log(self, values: Mapping[str, float]) -> None:
        """Do nothing: no job runs."""

    def where(self) -> str:
        """Return nothing: there is no worker."""
        return ""


def main() -> int:
    """Read {"file", "arguments"} from standard input. What the script prints is not shown."""
    asked = json.load(sys.stdin)
    path = pathlib.Path(asked["file"])
    output = os.dup(1)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    the_script.runner = Describing(path, list(asked["arguments"]), output)
    try:
        run_script(path, asked["arguments"], SEED)
        raise without_loop()
    except UserError as error:
        remedy = f"; {error.remedy}" if error.remedy else ""
        where = f"{error.where}: " if error.where and not error.traceback else ""
        shown = f"{error.traceback}\n" if error.traceback else ""
        sys.stderr.flush()
        os.write(output, f"{shown}{where}{error.headline}{remedy}\n".encode())
    return 2
