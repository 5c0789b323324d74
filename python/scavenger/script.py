"""What a script with a loop of its own has told: its model, its optimizer, its data.

`scavenger.prepare`, `loader`, `step`, `evaluate` and `log` are the functions here. What carries
them out is a Runner: scavenger-train's worker, or what describes a script before its job begins.
"""

from __future__ import annotations

import dataclasses
import numbers
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Protocol

import torch

from scavenger.devices.choice import CPU, moved
from scavenger.loading.forked_loaders import Collate, ScriptData
from scavenger.model_state import ModelState, checked_module
from scavenger.optimizers import settings
from scavenger.optimizers.stepped_elsewhere import SteppedElsewhere
from scavenger.optimizers.stepped_here import SteppedHere
from scavenger.problems import UserError

RUN_IT = "run it with scavenger-train train.py --workers 2, or scavenger.run(\"train.py\", workers=2)"
MOST_VALUES = 64


class Runner(Protocol):
    """What gives batches to the script and takes its losses."""

    def batches(self) -> Iterator[Any]:
        """Yield the batches of the training."""

    def step(self, loss: torch.Tensor, backward: bool) -> bool:
        """Finish the iteration; return whether it counts."""

    def log(self, values: Mapping[str, float]) -> None:
        """Log values of this iteration."""

    def where(self) -> str:
        """Return which worker and samples the script is at, for a message."""


@dataclasses.dataclass
class Place:
    """Which iteration is trained, and as what."""

    iteration: int
    rank: int
    workers: int
    batch_size: int
    position: Optional[int]  # in the job's order, of the batch's first sample; None: not known here


@dataclasses.dataclass
class Evaluation:
    """How the test data is judged."""

    function: Callable[[Any], Any]
    data: ScriptData
    batch_size: Optional[int]
    classes: Optional[int]


@dataclasses.dataclass
class Training:
    """What the training loop goes over, and until when."""

    data: ScriptData
    batch_size: Optional[int]
    stop: Dict[str, Any]


class Script:
    """The one script of this process."""

    def __init__(self) -> None:
        self.runner: Optional[Runner] = None
        self.state: Optional[ModelState] = None
        self.optimizer: Dict[str, Any] = {}
        self.stepped: Optional[SteppedElsewhere] = None
        self.stepped_here: Optional[SteppedHere] = None  # if workers step the optimizer
        self.training: Optional[Training] = None
        self.evaluation: Optional[Evaluation] = None
        self.place: Optional[Place] = None
        self.loop_began = False
        self.device = CPU  # of this worker; while a script is described, the CPU

    def runner_of(self, function: str) -> Runner:
        """Return what carries the script out. Raises UserError outside of a job."""
        if self.runner is None:
            raise UserError(f"{function} was called by a script that no job runs", "", RUN_IT)
        return self.runner

    def known_place(self, name: str) -> Place:
        """Return where the loop is. Raises UserError before the first batch."""
        if self.place is None:
            raise UserError(f"scavenger.{name} is known from the first batch on", "",
                            "use it in the loop; what comes before is done by every worker")
        return self.place

    def require_before_loop(self, function: str) -> None:
        """Raise UserError if the loop has begun."""
        if self.loop_began:
            raise UserError(f"{function} was called in or after the loop", "",
                            "call it before the first batch")


the_script = Script()


def _module_of(model: Any) -> torch.nn.Module:
    module: Any = getattr(model, "_orig_mod", model)  # of torch.compile
    if not isinstance(module, torch.nn.Module):
        raise UserError(f"scavenger.prepare() got {type(model).__name__}, not a torch.nn.Module", "",
                        "call it as scavenger.prepare(model, optimizer)")
    return checked_module(module, "scavenger.prepare()")


def prepare(model: torch.nn.Module, optimizer: torch.optim.Optimizer, *,
            clip_norm: Optional[float] = None,
            schedule: Optional[Mapping[str, Any]] = None,
            scheduler: Any = None, interval: str = "iteration") -> None:
    """Give the model to the job, which steps the optimizer.

    `clip_norm` scales the gradient of the global batch down to this norm. `schedule` changes the
    learning rate: the section optimizer.schedule of docs/config.md. `scheduler` does it by a
    scheduler of torch.optim, which the job steps after each "iteration" or "epoch" (`interval`).
    """
    script = the_script
    script.require_before_loop("scavenger.prepare()")
    script.runner_of("scavenger.prepare()")
    if script.state is not None:
        raise UserError("scavenger.prepare() was called twice", "",
                        "put several models into one torch.nn.ModuleDict")
    state = ModelState(_module_of(model))
    place = "scavenger.prepare()"
    settings.require_trainable(optimizer, state.names, state.parameters, place)
    settings.require_no_others(optimizer, state.parameters, place)
    found = None
    if scheduler is None:
        found = settings.settings_of(optimizer, state.parameters)
    if found is None:
        script.stepped_here = SteppedHere(optimizer, state, place, scheduler, interval)
        script.stepped_here.refuse_calls()
        found = script.stepped_here.settings()
    if clip_norm is not None:
        found["clip_norm"] = float(clip_norm)
    if schedule is not None:
        found["schedule"] = dict(schedule)
    script.optimizer = found
    script.stepped = SteppedElsewhere(optimizer, has_scheduler=scheduler is not None)
    script.state = state


def on_device(batch: Any) -> Any:
    """Return a batch with its tensors where the model is."""
    state = the_script.state
    return batch if state is None else moved(batch, state.device)


def _data_of(dataset: Any, collate_fn: Optional[Collate], function: str) -> ScriptData:
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise UserError(f"{function} got {type(dataset).__name__}, which has no __getitem__ and "
                        "__len__", "", "give it a map-style data set, and no DataLoader")
    if len(dataset) == 0:
        raise UserError(f"the data set of {function} has no samples", "", "give it at least one")
    return ScriptData(dataset, collate_fn)


class Batches:
    """The training loop's batches. It is gone over once: it ends when the job does."""

    def __iter__(self) -> Iterator[Any]:
        """Begin the loop."""
        script = the_script
        runner = script.runner_of("scavenger.loader()")
        if script.state is None:
            raise UserError("the loop began without scavenger.prepare(model, optimizer)", "",
                            "call it before the loop")
        if script.loop_began:
            raise UserError("there is a second loop over scavenger.loader()", "",
                            "have one loop, which ends when the job does, and ask scavenger.epoch "
                            "for the epoch")
        script.loop_began = True
        return runner.batches()


def loader(dataset: Any, batch_size: Optional[int] = None, collate_fn: Optional[Collate] = None, *,
           epochs: Optional[float] = None, max_iterations: Optional[int] = None) -> Batches:
    """Return the batches of this worker, of `dataset` in the job's order, until the job ends.

    `batch_size` is that of all workers together. It and the end may also be given to
    scavenger-train, whose word counts.
    """
    script = the_script
    script.require_before_loop("scavenger.loader()")
    script.runner_of("scavenger.loader()")
    if script.training is not None:
        raise UserError("scavenger.loader() was called twice", "",
                        "join the data sets, for example with torch.utils.data.ConcatDataset")
    stop = {"max_epochs": epochs, "max_iterations": max_iterations}
    script.training = Training(_data_of(dataset, collate_fn, "scavenger.loader()"), batch_size,
                               {name: value for name, value in stop.items() if value is not None})
    return Batches()


def evaluate(function: Callable[[Any], Any], dataset: Any, batch_size: Optional[int] = None,
             collate_fn: Optional[Collate] = None, *, classes: Optional[int] = None) -> None:
    """Have the job judge the model: `function(batch)` for the batches of `dataset`.

    It returns the mean loss, or a dictionary as evaluate() of a model's file does. It is called in
    evaluation mode without gradients, at times that the job's configuration decides.
    """
    script = the_script
    script.require_before_loop("scavenger.evaluate()")
    script.runner_of("scavenger.evaluate()")
    if not callable(function):
        raise UserError(f"scavenger.evaluate() got {type(function).__name__}, not a function", "",
                        "call it as scavenger.evaluate(function, dataset)")
    script.evaluation = Evaluation(function, _data_of(dataset, collate_fn, "scavenger.evaluate()"),
                                   batch_size, classes)


def step(loss: torch.Tensor, *, backward: bool = True) -> bool:
    """Finish the iteration: backward pass, exchange of gradients, optimizer.

    Returns whether the iteration counts. If it does not, since the workers have changed or the
    gradient's noise was measured, samples of it come again. `backward=False`: the script has called
    backward() by itself.
    """
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        kind = (f"a tensor of shape {list(loss.shape)}" if isinstance(loss, torch.Tensor)
                else type(loss).__name__)
        raise UserError(f"scavenger.step() got {kind}, not one number", "",
                        "give it the mean over the batch's samples")
    if backward and not loss.requires_grad:
        raise UserError("the loss does not depend on the model's parameters", "",
                        "compute it without detach(), item() or no_grad()")
    return the_script.runner_of("scavenger.step()").step(loss, backward)


def log(values: Mapping[str, Any]) -> None:
    """Show these numbers, by name, on the terminal and in events.jsonl, as rank 0 has them.

    They are shown twice a second at most.
    """
    if len(values) > MOST_VALUES:
        raise UserError(f"scavenger.log() got {len(values)} values", "",
                        f"log at most {MOST_VALUES} at a time")
    floats = {}
    for name, value in values.items():
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            value = value.item()
        if not isinstance(value, numbers.Real):
            raise UserError(f"scavenger.log() got {type(value).__name__} for {name}", "",
                            "log numbers")
        floats[str(name)] = float(value)
    the_script.runner_of("scavenger.log()").log(floats)


def place_value(name: str) -> float:
    """Return `iteration`, `rank`, `workers` or `epoch` of the batch that the loop has."""
    place = the_script.known_place(name)
    if name == "epoch":
        assert the_script.training is not None
        position = place.position
        if position is None:
            raise UserError("scavenger.epoch is not known after a loop without a batch", "",
                            "ask in the loop")
        return position / len(the_script.training.data.samples)
    value: int = getattr(place, name)
    return value
