"""One worker's forward and backward passes of a user's module."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import sys
from typing import Any, Callable, ContextManager, List, Mapping, Optional, Protocol, Tuple

import torch

from scavenger import native, objective
from scavenger.devices.choice import is_apart, moved
from scavenger.gradients import GradientCollector
from scavenger.model_state import ModelState
from scavenger.devices.pass_record import record_of
from scavenger.problems import UserError, blaming, is_out_of_memory, sample_text
from scavenger.user_file import UserFile


class Source(Protocol):
    """Where the rows of a batch come from."""

    def open(self, batch: native.Batch) -> None:
        """Begin to use this batch."""

    def rows(self, first: int, last: int) -> Any:
        """Return rows of the batch as the user's functions take them."""

    def use_micro_batch(self, samples: int) -> None:
        """Expect rows to be asked for by at most so many from now on."""

    def numbers(self, first: int, last: int) -> List[int]:
        """Return the numbers of these rows for a message: of samples, or their positions."""

    wait_seconds: float


@dataclasses.dataclass
class Settings:
    """What the job's configuration says of a worker's passes."""

    loss: Mapping[str, Any]
    micro_batch: int  # most samples of a pass; 0: no limit
    is_bfloat16: bool
    shape: objective.DataShape
    worker: int

    @staticmethod
    def of(config: Mapping[str, Any], data: Mapping[str, Any], worker: int) -> "Settings":
        """Read them from the configuration and from the shape of the data."""
        compute = config.get("compute", {})
        micro_batch = compute.get("micro_batch", "auto")
        has_batches = config["data"]["train"]["format"] != "python"
        return Settings(
            loss=config.get("loss", {}),
            micro_batch=0 if micro_batch == "auto" else int(micro_batch),
            is_bfloat16=compute.get("precision", "float32") == "bfloat16",
            shape=objective.DataShape(data["target"], data["classes"], has_batches),
            worker=worker,
        )


def seed_everything(key: int) -> None:
    """Seed all generators that a user's functions may draw from."""
    torch.default_generator.manual_seed(key)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(key)
    random.seed(key)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(key & 0xFFFFFFFF)


def parts_of(size: int, most: int) -> List[Tuple[int, int]]:
    """Divide so many samples among passes of nearly one size, of at most `most`; 0: no limit."""
    passes = (size + most - 1) // most if most else 1
    return [(size * i // passes, size * (i + 1) // passes) for i in range(passes)]


def half_of(most: int, size: int) -> int:
    """Return a limit for passes of half the size, as memory did not suffice. Raises UserError."""
    now = min(most or size, size)
    if now == 1:
        raise UserError("memory does not suffice for one sample", "",
                        "use a smaller model, or a machine with more memory")
    return now // 2


class Trainer:
    """Computes gradients and evaluations. Each is asked for by the library's thread."""

    def __init__(self, file: UserFile, state: ModelState, settings: Settings, source: Source,
                 ready: Callable[[Any, int], None],
                 work_ahead: Callable[[Any], int] = lambda _: 0) -> None:
        self._file = file
        self._work_ahead = work_ahead
        self._state = state
        self._module = state.module
        self._settings = settings
        self._source = source
        self._micro_batch = settings.micro_batch
        self._evaluated_at_once = 0  # most samples of a pass of an evaluation; 0: no limit
        self._collector = GradientCollector(state, ready)

    def use_gradients(self, views: List[torch.Tensor]) -> None:
        """Write gradients to these views from now on."""
        self._collector.use_gradients(views)

    def _rows(self, first: int, last: int) -> Any:
        return moved(self._source.rows(first, last), self._state.device)

    def _precision(self) -> ContextManager[Any]:
        if self._settings.is_bfloat16:
            return torch.autocast(self._state.device.type, dtype=torch.bfloat16)
        return contextlib.nullcontext()

    def _set_training(self, is_training: bool) -> None:
        if self._module.training != is_training:
            self._module.train(is_training)

    def forward_backward(self, worker: Any, batch: native.Batch, key: int,
                         step: native.Step) -> None:
        """Compute the gradient of a batch's mean loss. Raises UserError."""
        self._set_training(True)
        self._source.open(batch)
        self._state.bring_buffers()
        before = self._state.copy_of_buffers()
        while True:
            seed_everything(key)
            self._collector.begin(worker)
            try:
                self._passes(worker, batch.size, step)
                break
            except Exception as error:
                cause = error.__cause__ or error
                if not is_out_of_memory(cause) or self._collector.has_told():
                    raise
                self._halve(batch.size)
                self._state.put_back_buffers(before)
        step.data_wait_seconds = self._source.wait_seconds

    def _halve(self, size: int) -> None:
        self._micro_batch = half_of(self._micro_batch, size)
        if is_apart(self._state.device):
            torch.cuda.empty_cache()  # what a pass of another size cannot use
        self._source.use_micro_batch(self._micro_batch)

    def _passes(self, worker: Any, size: int, step: native.Step) -> None:
        record = self._collector.record = record_of(self._state.device)
        for first, last in parts_of(size, self._micro_batch):
            self._collector.is_last_pass = last == size
            data = self._rows(first, last)
            record.begin_pass()
            share = (last - first) / size
            loss = self._loss(data, first, last)
            if share != 1.0:
                loss = loss * share
            if not record.add_loss(loss):
                break
            with blaming("the backward pass", lambda: self._place(first, last)):
                loss.backward()
            self._state.settle_buffers()
            record.end_pass()
        self._state.fetch_buffers()
        self._collector.finish(lambda: self._work_ahead(worker) != 0)
        record.fill(step)

    def _place(self, first: int, last: int) -> str:
        numbers = sample_text(self._source.numbers(first, last))
        return f" in worker {self._settings.worker}, on samples {numbers}"

    def _loss(self, data: Any, first: int, last: int) -> torch.Tensor:
        name = "loss()" if self._file.loss else "the model"
        with blaming(name, lambda: self._place(first, last)), self._precision():
            loss = self._loss_of(data)
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            kind = (f"a tensor of shape {list(loss.shape)}" if isinstance(loss, torch.Tensor)
                    else type(loss).__name__)
            raise UserError(f"loss() returned {kind}, not one number", str(self._file.path),
                            "return the mean over the batch's samples")
        if loss.requires_grad or not torch.is_grad_enabled():
            return loss
        raise UserError("the loss does not depend on the model's parameters",
                        str(self._file.path), "compute it without detach(), item() or no_grad()")

    def _loss_of(self, data: Any) -> Any:
        if self._file.loss is not None:
            return self._file.loss(self._module, data)
        shape = self._settings.shape
        rows, targets = objective.predictions_of(objective.outputs_of(self._module, data), data,
                                                 shape)
        return objective.loss_of(rows, targets, self._settings.loss, shape)

    def evaluate(self, batch: native.Batch, sums: native.Sums) -> None:
        """Evaluate the model on a batch. Raises UserError."""
        self._set_training(False)
        self._source.open(batch)
        self._state.bring_buffers()
        with torch.no_grad():
            found = self._evaluation(batch.size)
        for field in dataclasses.fields(found):
            setattr(sums, field.name, getattr(found, field.name))

    def _evaluation(self, size: int) -> objective.Sums:
        while True:
            try:
                total = objective.Sums(predictions=0, loss=0.0)
                for first, last in parts_of(size, self._evaluated_at_once):
                    total.add(self._evaluation_of(first, last))
                return total
            except Exception as error:
                if not is_out_of_memory(error.__cause__ or error):
                    raise
                self._evaluated_at_once = half_of(self._evaluated_at_once, size)

    def _evaluation_of(self, first: int, last: int) -> objective.Sums:
        data = self._rows(first, last)
        size = last - first
        shape = self._settings.shape
        if self._file.evaluate is not None:
            with blaming("evaluate()", lambda: self._place(first, last)), self._precision():
                result = self._file.evaluate(self._module, data)
            needs_loss = isinstance(result, Mapping) and "loss" not in result
            mean = float(self._loss(data, first, last)) if needs_loss else 0.0
            return objective.sums_from(result, size, mean)
        if not shape.has_batches:
            mean = float(self._loss(data, first, last))
            return objective.Sums(predictions=size, loss=mean * size)
        with blaming("the model", lambda: self._place(first, last)), self._precision():
            answer = objective.outputs_of(self._module, data)
            rows, targets = objective.predictions_of(answer, data, shape)
        if self._file.loss is not None:
            mean = float(self._loss(data, first, last))
        else:
            mean = float(objective.loss_of(rows, targets, self._settings.loss, shape))
        return objective.sums_of(rows, targets, mean, shape)
