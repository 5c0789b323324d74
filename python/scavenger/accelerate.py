"""An Accelerator whose loop is a Scavenger job, in place of that of Hugging Face's accelerate.

    accelerator = scavenger.accelerate.Accelerator(epochs=3)
    model, optimizer, batches, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for epoch in range(3):
        for batch in batches:
            optimizer.zero_grad()
            accelerator.backward(loss_of(model, batch))
            optimizer.step()
            scheduler.step()

in a script that scavenger-train runs. The DataLoader gives its data set, batch size and
collate_fn; the job orders the samples. The batch size is that of all workers together.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, List, Optional

import torch

from scavenger import script
from scavenger.problems import UserError

PLACE = "Accelerator.prepare()"


class Batches:
    """The training's batches, an epoch for each loop over them; empty when the job has ended."""

    def __init__(self, loader: torch.utils.data.DataLoader, batches: script.Batches) -> None:
        self.dataset = loader.dataset
        self._source = batches
        self._length = len(loader)
        self._batches: Optional[Iterator[Any]] = None
        self._next: Optional[Any] = None  # of the next epoch
        self.has_ended = False

    def __len__(self) -> int:
        """Return the batches of an epoch, as the DataLoader would have them."""
        return self._length

    def __iter__(self) -> Iterator[Any]:
        """Yield batches until one of the next epoch comes."""
        if self._batches is None:
            self._batches = iter(self._source)
        epoch: Optional[int] = None
        while not self.has_ended:
            batch, self._next = self._next, None
            if batch is None:
                batch = script.on_device(next(self._batches, None))
            if batch is None:
                self.has_ended = True
                return
            now = int(script.place_value("epoch"))
            if epoch is None:
                epoch = now
            if now != epoch:
                self._next = batch
                return
            yield batch


class _Optimizer:
    """What the script steps: each step is one of the job."""

    def __init__(self, accelerator: "Accelerator", optimizer: torch.optim.Optimizer) -> None:
        self._accelerator = accelerator
        self._optimizer = optimizer

    def step(self, closure: Optional[Callable[[], Any]] = None) -> None:
        """Finish the iteration."""
        self._accelerator.finish()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Do nothing: the job takes each gradient."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._optimizer, name)


class SchedulerCalls:
    """Checks that the loop would step its scheduler when the job does: the job does it alone."""

    def __init__(self, interval: str) -> None:
        self._by_epoch = interval == "epoch"
        self._last_epoch: Optional[int] = None  # of the optimizer's last step
        self._calls = 0  # of the scheduler since then

    def scheduler_step(self) -> None:
        """Note that the loop has called scheduler.step()."""
        self._calls += 1

    def optimizer_step(self, epoch: int) -> None:
        """Check what the loop has done since the last step of the optimizer. Raises UserError."""
        last, calls = self._last_epoch, self._calls
        self._last_epoch, self._calls = epoch, 0
        if last is None:
            return
        due = int(epoch != last) if self._by_epoch else 1
        if calls == due:
            return
        rule = "epoch" if self._by_epoch else "iteration"
        raise UserError(f"scheduler.step() was called {calls} times between two iterations of "
                        f"{'one epoch' if epoch == last else 'two epochs'}, and the job steps it "
                        f"after each {rule}", "",
                        'say Accelerator(interval="iteration") or Accelerator(interval="epoch"), '
                        "and call it that often")


class _Scheduler:
    """A scheduler that the job steps."""

    def __init__(self, scheduler: Any, calls: SchedulerCalls) -> None:
        self._scheduler = scheduler
        self._calls = calls

    def step(self, *_: Any, **__: Any) -> None:
        """Leave the step to the job, which makes it after each iteration or epoch."""
        self._calls.scheduler_step()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scheduler, name)


class Accelerator:
    """Has the members of accelerate.Accelerator that a training loop uses.

    `epochs` or `max_iterations` end the job, unless scavenger-train says otherwise. `clip_norm` is
    in place of clip_grad_norm_(). `interval`: after what the job steps the scheduler, an
    "iteration" or an "epoch".
    """

    def __init__(self, *, epochs: Optional[float] = None, max_iterations: Optional[int] = None,
                 clip_norm: Optional[float] = None, interval: str = "iteration") -> None:
        self._epochs = epochs
        self._max_iterations = max_iterations
        self._clip_norm = clip_norm
        self._interval = interval
        self._calls: Optional[SchedulerCalls] = None  # if there is a scheduler
        self._loss: Optional[torch.Tensor] = None
        self.device = script.the_script.device

    def prepare(self, *parts: Any) -> Any:
        """Take a model, its optimizer, the training's DataLoader and maybe a scheduler.

        Returns them in their order.
        """
        model = _only(parts, torch.nn.Module, "model")
        optimizer = _only(parts, torch.optim.Optimizer, "optimizer")
        loader = _only(parts, torch.utils.data.DataLoader, "DataLoader")
        schedulers = [part for part in parts if part not in (model, optimizer, loader)]
        if len(schedulers) > 1:
            raise UserError(f"{PLACE} got {len(parts)} things", "", "give it one model, optimizer, "
                            "DataLoader and scheduler; evaluate by scavenger.evaluate()")
        model.to(self.device)
        script.prepare(model, optimizer, clip_norm=self._clip_norm,
                       scheduler=schedulers[0] if schedulers else None, interval=self._interval)
        if schedulers:
            self._calls = SchedulerCalls(self._interval)
        batches = script.loader(loader.dataset, loader.batch_size, loader.collate_fn,
                                epochs=self._epochs, max_iterations=self._max_iterations)
        made: List[Any] = []
        for part in parts:
            if part is optimizer:
                made.append(_Optimizer(self, optimizer))
            elif part is loader:
                made.append(Batches(loader, batches))
            else:
                made.append(part if self._calls is None or part is model
                            else _Scheduler(part, self._calls))
        return tuple(made)

    def backward(self, loss: torch.Tensor) -> None:
        """Keep the loss for optimizer.step(), which makes the backward pass."""
        if self._loss is not None:
            raise UserError("backward() was called twice without optimizer.step()", "",
                            "use a larger batch in place of accumulated gradients")
        self._loss = loss

    def finish(self) -> None:
        """Finish the iteration."""
        if self._loss is None:
            raise UserError("optimizer.step() was called without accelerator.backward(loss)", "",
                            "call it for each batch")
        if self._calls is not None:
            self._calls.optimizer_step(int(script.place_value("epoch")))
        loss, self._loss = self._loss, None
        script.step(loss)

    def clip_grad_norm_(self, *_: Any, **__: Any) -> None:
        """Refuse: the gradient of the global batch is clipped."""
        raise UserError("clip_grad_norm_() was called", "", "use Accelerator(clip_norm=...)")

    @contextlib.contextmanager
    def accumulate(self, *_: Any) -> Iterator[None]:
        """Do nothing: each batch is a step."""
        yield

    @property
    def is_main_process(self) -> bool:
        """Return whether this is rank 0; before the first batch nobody is."""
        return script.the_script.place is not None and int(script.place_value("rank")) == 0

    @property
    def num_processes(self) -> int:
        """Return the number of workers now."""
        return int(script.place_value("workers"))

    def print(self, *words: Any, **keywords: Any) -> None:
        """Print on rank 0."""
        if self.is_main_process:
            print(*words, **keywords)

    def log(self, values: Any, step: Optional[int] = None) -> None:
        """Show these numbers, by name."""
        script.log(values)

    def unwrap_model(self, model: torch.nn.Module) -> torch.nn.Module:
        """Return the model."""
        return model

    def wait_for_everyone(self) -> None:
        """Do nothing: workers wait for each other in each step."""

    def end_training(self) -> None:
        """Do nothing."""


def _only(parts: Any, kind: Any, name: str) -> Any:
    found = [part for part in parts if isinstance(part, kind)]
    if len(found) != 1:
        raise UserError(f"{PLACE} got {len(found)} of a {name}", "", "give it one model, one "
                        "optimizer and the DataLoader of the training")
    return found[0]
