"""What scavenger-train asks of a model's file before it starts anything."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any, Dict, Mapping

import torch

from scavenger import user_file
from scavenger.model_state import ModelState, make_module
from scavenger.optimizers import settings
from scavenger.optimizers.stepped_here import SteppedHere, scheduler_of
from scavenger.problems import UserError, blaming

SPLITS = ("train", "test")


def _size_of(dataset: Any, split: str) -> int:
    place = f'make_dataset("{split}")'
    if isinstance(dataset, torch.utils.data.IterableDataset):
        raise UserError(f"{place} returned {type(dataset).__name__}, an iterable data set, whose "
                        "samples have no numbers", "",
                        "return scavenger.data.Shards(shards, read), or a map-style data set")
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise UserError(f"{place} returned {type(dataset).__name__}, which has no __getitem__ and "
                        "__len__", "", "return a map-style data set")
    with blaming(f"len({place})"):
        size = len(dataset)
    if size == 0:
        raise UserError(f"{place} has no samples", "", "return at least one")
    return size


def _require_functions(file: user_file.UserFile, config: Mapping[str, Any]) -> None:
    if config["data"]["train"]["format"] != "python":
        return
    for name in ("make_dataset", "loss"):
        if getattr(file, name) is None:
            raise UserError(f"there is no {name}, which data in Python needs", str(file.path),
                            "define make_dataset(split) and loss(model, batch)")
    if config["data"].get("classes") and file.evaluate is None:
        raise UserError("data.classes promises an accuracy, and there is no evaluate()",
                        str(file.path), 'define evaluate(model, batch), which returns {"loss": '
                        'mean, "correct": count}, or leave out data.classes')


def stepped_here(file: user_file.UserFile, state: ModelState) -> SteppedHere:
    """Make the optimizer that workers step, with its scheduler. Raises UserError."""
    optimizer = _optimizer_of(file, state)
    scheduler, interval = None, "iteration"
    if file.make_scheduler is not None:
        with blaming("make_scheduler()"):
            found = file.make_scheduler(optimizer)
        scheduler, interval = scheduler_of(found, "make_scheduler()")
    return SteppedHere(optimizer, state, "make_optimizer()", scheduler, interval)


def _settings_of(file: user_file.UserFile, state: ModelState, strategy: str) -> Dict[str, Any]:
    if file.make_scheduler is None and strategy != "all_reduce":
        found = settings.settings_of(_optimizer_of(file, state), state.parameters)
        if found is not None:
            return found
    return stepped_here(file, state).settings()


def _optimizer_of(file: user_file.UserFile, state: ModelState) -> torch.optim.Optimizer:
    if file.make_optimizer is None:
        raise UserError("there is no make_optimizer(), and optimizer.type is python",
                        str(file.path), "define make_optimizer(model), or set optimizer.type")
    with blaming("make_optimizer()"):
        optimizer = file.make_optimizer(state.module)
    settings.require_trainable(optimizer, state.names, state.parameters, "make_optimizer()")
    return optimizer


def inspect(config: Mapping[str, Any]) -> Dict[str, Any]:
    """Load the file, make its model and its data sets once. Raises UserError."""
    file = user_file.load(pathlib.Path(config["model"]["file"]), config["data"])
    _require_functions(file, config)
    with blaming("make_model()"):
        state = ModelState(make_module(file.make_model, config["seed"]))
    answer: Dict[str, Any] = {
        "parameters": sum(parameter.numel() for parameter in state.parameters)}
    if config.get("optimizer", {}).get("type") == "python":
        strategy = config.get("sync", {}).get("strategy", "")
        answer["optimizer"] = _settings_of(file, state, strategy)
    if config["data"]["train"]["format"] in user_file.PYTHON_FORMATS:
        assert file.make_dataset is not None
        for split in SPLITS:
            with blaming(f'make_dataset("{split}")'):
                dataset = file.make_dataset(split)
            answer[f"{split}_samples"] = _size_of(dataset, split)
    return answer


def main() -> int:
    """Read the configuration from standard input; the last line of the output is the answer."""
    try:
        answer = inspect(json.load(sys.stdin))
    except UserError as error:
        print(error.line())
        return 2
    sys.stdout.flush()
    print("\n" + json.dumps(answer))
    return 0


def print_summary(path: str) -> None:
    """Print what a file has, or raise UserError."""
    config = {"model": {"file": str(pathlib.Path(path).absolute())}, "seed": 1,
              "data": {"train": {"format": "built-in"}}}
    file = user_file.load(pathlib.Path(path).absolute())
    if file.make_dataset is not None:
        config["data"] = {"train": {"format": "python"}}
    for name, value in inspect(config).items():
        print(f"{name.replace('_', ' ')}: {value}")
