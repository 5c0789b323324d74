"""An optimizer that the parameter server does not have: each worker steps it, in Python.

All workers have the sum of their gradients, the same weights and the same state, and make the same
step. The library keeps weights and state in two versions; a step is made in the newer one.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import torch

from scavenger import native
from scavenger.model_state import ModelState, floats_at
from scavenger.optimizers import state as remembered
from scavenger.problems import UserError, blaming
from scavenger.trainer import seed_everything

INTERVALS = {"iteration": False, "step": False, "epoch": True}  # whether it is an epoch
SEED_STRIDE = 0x9E3779B97F4A7C15  # so that the seeds of neighbouring steps have nothing in common
MOST_SEED = (1 << 63) - 1


class Schedule:
    """A scheduler of torch.optim.lr_scheduler, which follows the job's iterations or epochs.

    Its place is the number of its steps, which the iteration tells. So a resumed job steps it as
    often as the job had, from its beginning.
    """

    def __init__(self, scheduler: Any, interval: str, optimizer: torch.optim.Optimizer,
                 place: str) -> None:
        if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            raise UserError("ReduceLROnPlateau follows a metric, which is not offered", place,
                            "use a scheduler that follows iterations or epochs")
        if not callable(getattr(scheduler, "step", None)) or not hasattr(scheduler, "state_dict"):
            raise UserError(f"{type(scheduler).__name__} is no scheduler", place,
                            "use one of torch.optim.lr_scheduler")
        if getattr(scheduler, "optimizer", optimizer) is not optimizer:
            raise UserError("the scheduler belongs to another optimizer", place,
                            "make it for the optimizer that trains the model")
        if interval not in INTERVALS:
            raise UserError(f"the scheduler's interval is {interval}", place,
                            'use "iteration" or "epoch"')
        self._scheduler = scheduler
        self._step: Callable[[], None] = scheduler.step
        self._by_epoch = INTERVALS[interval]
        self._optimizer = optimizer
        self._beginning = copy.deepcopy(scheduler.state_dict())
        self._groups = [{name: copy.deepcopy(value) for name, value in group.items()
                         if name != "params"} for group in optimizer.param_groups]
        self._done = 0

    def refuse_calls(self) -> None:
        """Have step() refused: it is the job that steps the scheduler."""
        setattr(self._scheduler, "step", _refuse_scheduler)

    def advance(self, iterations: int, epochs: int) -> None:
        """Bring the optimizer's settings to where they are after so many of the job."""
        due = epochs if self._by_epoch else iterations
        if due < self._done:  # the job went back to a checkpoint
            self._scheduler.load_state_dict(copy.deepcopy(self._beginning))
            for group, beginning in zip(self._optimizer.param_groups, self._groups):
                group.update(copy.deepcopy(beginning))
            self._done = 0
        if due == self._done:
            return
        with warnings.catch_warnings():  # of epochs without a step of the optimizer
            warnings.simplefilter("ignore")
            with blaming("the scheduler's step()"):
                while self._done < due:
                    self._step()
                    self._done += 1


def _refuse_scheduler(*_: Any, **__: Any) -> None:
    raise UserError("scheduler.step() was called", "",
                    "leave it out: scavenger.step(loss) steps the scheduler that prepare() got")


class SteppedHere:
    """Makes the steps of an optimizer. Thread: that of the user's code."""

    def __init__(self, optimizer: torch.optim.Optimizer, state: ModelState, place: str,
                 scheduler: Any = None, interval: str = "iteration") -> None:
        self._optimizer = optimizer
        self._step: Callable[[], Any] = optimizer.step
        self._schedule: Optional[Schedule] = None
        if scheduler is not None:
            self._schedule = Schedule(scheduler, interval, optimizer, place)
        self._state = state
        self._beginning = remembered.beginning_of(optimizer)
        with state.exact_copies():
            self._layout = remembered.layout_of(optimizer, state.names, state.parameters, place)
        self.names = remembered.names_of(self._layout, place)
        state.kept_views += 2 * len(self.names)
        # The parts of parameters, by the places of the vectors.
        self._parts: Dict[Tuple[int, ...], List[Dict[str, torch.Tensor]]] = {}

    def settings(self) -> Dict[str, Any]:
        """Return the section `optimizer` of the configuration."""
        return {"type": "python", "state": self.names}

    def refuse_calls(self) -> None:
        """Have the scheduler's step() refused."""
        if self._schedule is not None:
            self._schedule.refuse_calls()

    def step(self, request: native.OptimizerStep, views: Callable[[int], List[torch.Tensor]],
             flat_size: int, seed: int) -> None:
        """Write the weights and the state after the step. Raises UserError."""
        after = [request.to[i] for i in range(request.vectors)]
        for i, address in enumerate(after):
            floats_at(address, flat_size).copy_(floats_at(request.before[i], flat_size))
        self._state.use_exact_weights(views(after[0]))
        for parameter, gradient in zip(self._state.parameters, views(request.gradient)):
            parameter.grad = gradient
        parts = self._parts_of(after[1:], views)
        if request.step_number > 1:
            self._load(parts)
        else:
            remembered.begin(self._optimizer, self._beginning)
        if self._schedule is not None:
            self._schedule.advance(request.iteration, request.epochs)
        # Of an optimizer that draws random numbers: alike in all workers.
        seed_everything((seed + request.iteration * SEED_STRIDE) & MOST_SEED)
        with blaming("the optimizer's step()"), self._scaled(request.factor):
            self._step()
        for parameter in self._state.parameters:
            parameter.grad = None
        self._store(parts)

    def _parts_of(self, addresses: List[int], views: Callable[[int], List[torch.Tensor]]
                  ) -> List[Dict[str, torch.Tensor]]:
        key = tuple(addresses)
        parts = self._parts.get(key)
        if parts is None:
            if len(self._parts) >= 2:  # versions; a new membership may have moved them
                self._parts.clear()
            flat = {name: [part.reshape(-1) for part in views(address)]
                    for name, address in zip(self.names, addresses)}
            parts = [{name: flat[name][index] for name in entries}
                     for index, entries in enumerate(self._layout)]
            self._parts[key] = parts
        return parts

    def _load(self, parts: List[Dict[str, torch.Tensor]]) -> None:
        for parameter, entries, part in zip(self._state.parameters, self._layout, parts):
            if entries:
                self._optimizer.state[parameter] = {
                    name: remembered.load(entry, part[name])
                    for name, entry in entries.items()}

    def _store(self, parts: List[Dict[str, torch.Tensor]]) -> None:
        for parameter, entries, part in zip(self._state.parameters, self._layout, parts):
            kept = self._optimizer.state.get(parameter, {})
            for name in entries:
                if kept.get(name) is not None:
                    remembered.store(kept[name], part[name], name)

    def _scaled(self, factor: float) -> "_ScaledRates":
        return _ScaledRates(self._optimizer, factor)


class _ScaledRates:
    """Multiplies the learning rates of an optimizer's groups within a block."""

    def __init__(self, optimizer: torch.optim.Optimizer, factor: float) -> None:
        self._groups = optimizer.param_groups if factor != 1.0 else []
        self._factor = factor
        self._rates: List[Any] = []

    def __enter__(self) -> None:
        for group in self._groups:
            rate = group.get("lr")
            self._rates.append(rate)
            if rate is not None:
                group["lr"] = rate * self._factor

    def __exit__(self, *_: Any) -> None:
        for group, rate in zip(self._groups, self._rates):
            if rate is not None:
                group["lr"] = rate


def scheduler_of(found: Any, place: str) -> Tuple[Any, str]:
    """Return a scheduler and its interval, of what a user gives: it, or Lightning's dictionary."""
    if not isinstance(found, Mapping):
        return found, "iteration"
    unknown = set(found) - {"scheduler", "interval", "name", "frequency"}
    if unknown or "scheduler" not in found or found.get("frequency", 1) != 1:
        raise UserError(f"a scheduler is described by {', '.join(sorted(map(str, found)))}", place,
                        'use {"scheduler": scheduler, "interval": "iteration" or "epoch"}')
    return found["scheduler"], str(found.get("interval", "epoch"))
