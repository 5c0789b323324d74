"""A worker whose batches a script takes: the library works on a thread of its own.

The library's thread asks, the script's thread answers (handover.py): a pass is answered when the
script has called step() for its batch. step() then waits for the next request, which says whether
the iteration counts: a later one, or the same again.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import math
import os
import pathlib
import sys
import threading
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

import torch

from scavenger import batches, host_program, native, objective
from scavenger.devices import choice
from scavenger.devices.handles import make_handles
from scavenger.devices.pass_record import record_of
from scavenger.gradients import GradientCollector
from scavenger.handover import Call, End, Handover, Pass
from scavenger.loading.forked_loaders import datasets_of_rows, forked_loaders
from scavenger.loading.loader_pool import LoaderPool, PoolSource
from scavenger.loading.rows_source import RowsSource
from scavenger.problems import Failure, UserError, blaming, sample_text
from scavenger.script import Place, the_script
from scavenger.script_run import read_ticket, run_script, take_input, without_loop
from scavenger.trainer import seed_everything

LOG_SECONDS = 0.5  # between two messages of scavenger.log()


class ScriptModel(host_program.Worker):
    """Answers what the library asks, on its thread, with the help of the script's."""

    def __init__(self, library: Any, handover: Handover, source: Union[PoolSource, RowsSource],
                 failure: Optional[UserError]) -> None:
        super().__init__(library)
        self._handover = handover
        self._failure = failure
        self._own_data = source
        self.index = 0
        self.collector: Optional[GradientCollector] = None

    def set_up(self, job: native.Job, model: native.Model) -> None:
        """Describe the model that the script has prepared."""
        self.index = job.index
        if self._failure is not None:
            raise self._failure
        config = json.loads(job.config)
        state = self._state = the_script.state
        assert state is not None
        _require_described(config)
        _require_placed(state.device, config)
        self._seed = config["seed"]
        self._stepped = the_script.stepped_here
        assert self._own_data is not None
        self._own_data.use_limits(config)
        self.collector = GradientCollector(state, self._library.scavenger_worker_gradient_ready)
        self.collector.is_active = False
        model.place = self.describe_place(state.device)
        choice.use_kernels({})
        make_handles(state.device)
        model.batches_ahead = self._own_data.batches_ahead
        state.describe(model)

    def use_threads(self, threads: int) -> None:
        """Have the script compute with so many threads."""
        self._handover.ask(Call(lambda: super(ScriptModel, self).use_threads(threads)))

    def use_gradients(self, address: int) -> None:
        """Write gradients to this memory."""
        assert self.collector is not None
        self.collector.use_gradients(self._views(address))

    def forward_backward(self, worker: int, batch: Any, key: int, step: Any) -> None:
        """Have the script compute the gradient of a batch."""
        self._handover.ask(Pass(worker, batch.contents, key, step.contents))

    def evaluate(self, batch: Any, sums: Any) -> None:
        """Have the script judge the model on a batch."""
        self._handover.ask(Call(lambda: self._judge(batch.contents, sums.contents)))

    def _judge(self, batch: native.Batch, sums: native.Sums) -> None:
        evaluation, state = the_script.evaluation, self._state
        assert evaluation is not None and state is not None and self._own_data is not None
        self._own_data.open(batch)
        data = self._own_data.rows(0, batch.size)
        assert the_script.training is not None
        first = len(the_script.training.data.samples)
        numbers = [number - first for number in self._own_data.numbers(0, batch.size)]
        place = f" in worker {self.index}, on samples {sample_text(numbers)}"
        with _evaluation_mode(state.module), blaming("evaluate()", lambda: place):
            found = _sums_of(evaluation.function(data), batch.size)
        for field in dataclasses.fields(found):
            setattr(sums, field.name, getattr(found, field.name))

    def step(self, step: Any) -> None:
        """Step the optimizer on the script's thread."""
        self._handover.ask(Call(lambda: super(ScriptModel, self).step(step)))

    def end(self, end: Any) -> None:
        """Keep the last weights, whose memory goes, and end the script's loop."""
        last = end.contents
        place = None
        if last.took_part:
            assert self._state is not None
            with torch.no_grad():
                for parameter in self._state.parameters:
                    parameter.data = parameter.detach().clone()
            place = Place(last.iterations, last.rank, last.workers, last.global_batch_size, None)
        self._handover.ask(End(place, None))


def _end_of(last: Optional[Place], end: Optional[Place]) -> Optional[Place]:
    """Return where the loop ended: behind the last batch that it had in this process, if any."""
    if end is None or last is None or last.position is None:
        return end
    return dataclasses.replace(end, position=last.position + last.batch_size)


def _require_described(config: Mapping[str, Any]) -> None:
    """Check that this run of the script is the one that its job was made for. Raises UserError."""
    training, evaluation = the_script.training, the_script.evaluation
    assert training is not None
    stepped = the_script.stepped_here
    host_program.require_optimizer(stepped.names if stepped else None, config)
    expected = config["data"]["train"]["samples"]
    if len(training.data.samples) != expected:
        raise UserError(f"the data set has {len(training.data.samples)} samples in this worker, and "
                        f"had {expected} when the job began", "scavenger.loader()",
                        "give every worker the same samples; random numbers are seeded alike")
    if evaluation is None and config["evaluation"].get("enabled", True):
        raise UserError("the job evaluates, and the script does not call scavenger.evaluate()", "",
                        "call it, or set evaluation.enabled to false")


def _require_placed(place: torch.device, config: Mapping[str, Any]) -> None:
    """Check that the script has put its model where the job trains. Raises UserError."""
    if place.type == the_script.device.type:
        return
    if config.get("device") == "cuda":
        raise UserError("the model is on the CPU, and device is cuda", "scavenger.prepare()",
                        "call model.to(scavenger.device) before it, and move each batch there")
    print("the model is on the CPU, and this worker has a GPU: scavenger.device", file=sys.stderr)


def _sums_of(result: Any, size: int) -> objective.Sums:
    if isinstance(result, Mapping):
        if "loss" not in result:
            raise UserError("evaluate() returned no loss", "",
                            'return {"loss": mean, "correct": count}, or the mean loss alone')
        return objective.sums_from(result, size, 0.0)
    if isinstance(result, torch.Tensor) and result.numel() == 1:
        result = result.item()
    if not isinstance(result, (int, float)):
        raise UserError(f"evaluate() returned {type(result).__name__}", "",
                        'return the mean loss, or {"loss": mean, "correct": count}')
    return objective.Sums(predictions=size, loss=float(result) * size)


@contextlib.contextmanager
def _evaluation_mode(module: torch.nn.Module) -> Iterator[None]:
    """Evaluate without gradients; each part of the module is then in its own mode again."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, is_training in modes:
            part.training = is_training


class ScriptLog:
    """What scavenger.log() was given and the library has not got yet."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._values: Optional[Dict[str, float]] = None
        self._iteration = 0
        self._sent_seconds = -math.inf

    def keep(self, values: Mapping[str, float], iteration: int) -> None:
        """Keep these in place of those that were not sent."""
        self._values, self._iteration = dict(values), iteration

    def drop(self, iteration: int) -> None:
        """Forget what was logged in an iteration that does not count."""
        if self._iteration == iteration:
            self._values = None

    def send(self, *, is_last: bool = False) -> None:
        """Send them if the last ones are old enough. Only while a function of the host runs."""
        now = time.monotonic()
        if self._values is None or (now - self._sent_seconds < LOG_SECONDS and not is_last):
            return
        count = len(self._values)
        names = (ctypes.c_char_p * count)(*(name.encode() for name in self._values))
        numbers = (ctypes.c_double * count)(*self._values.values())
        self._library.scavenger_worker_log(self._iteration, names, numbers, count)
        self._values, self._sent_seconds = None, now


class ScriptRunner:
    """Gives the library's batches to the script. Thread: the script's, but for `_work`."""

    def __init__(self, path: pathlib.Path, seed: int, library: Any, ticket: int) -> None:
        self._path = path
        self._seed = seed
        self._library = library
        self._ticket = ticket  # the file with the launch ticket
        self._handover = Handover()
        self._log = ScriptLog(library)
        self._model: Optional[ScriptModel] = None
        self._source: Optional[Union[PoolSource, RowsSource]] = None
        self._thread: Optional[threading.Thread] = None
        self._pass: Optional[Pass] = None  # the script computes it
        self._next: Any = None  # the request that has told how the last iteration ended
        self.has_ended = False

    # ---- The library. ----

    def _start(self, source: Any, failure: Optional[UserError] = None) -> None:
        take_input(self._ticket)
        self._model = ScriptModel(self._library, self._handover, source, failure)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        assert self._model is not None
        code = host_program.serve(self._library, self._model, self._on_script_thread())
        self._handover.tell(End(None, code))

    def _on_script_thread(self) -> Any:
        """Return compute_threads() for the library's thread: each thread has OpenMP threads of its
        own, and those of the script's are awake after its passes."""
        in_parallel = host_program.compute_threads()
        if in_parallel is None:
            return None

        def call(work: int, data: int, threads: int, flags: int) -> None:
            self._handover.ask(Call(lambda: in_parallel(work, data, threads, flags)))
        return native.InParallel(call)

    def fail(self, error: Union[UserError, Failure]) -> int:
        """Tell the job of an error in the script and return the exit code."""
        if self.has_ended:
            told = str(error) if isinstance(error, Failure) else (
                error.traceback or f"{error.where}: {error.what}")
            print(told, file=sys.stderr, flush=True)
            return native.FAILED
        if self._thread is None:
            self._start(None, error)
        elif self._pass is not None:
            self._pass = None
            self._handover.answer(error)
        elif self._next is not None:  # the script failed after its step()
            self._handover.answer(error)
        while not (isinstance(request := self._handover.next(), End)
                   and request.exit_code is not None):
            self._handover.answer(error)
        return request.exit_code

    def where(self) -> str:
        """Return which worker and samples the script is at, for a message."""
        if self._model is None or self._source is None:
            return ""
        worker = f" in worker {self._model.index}"
        if self._pass is None:
            return worker
        numbers = self._source.numbers(0, self._pass.batch.size)
        return f"{worker}, on samples {sample_text(numbers)}"

    # ---- The script. ----

    def batches(self) -> Iterator[Any]:
        """Yield the batches of the training until the job ends."""
        assert the_script.training is not None and the_script.state is not None
        training, evaluation = the_script.training.data, the_script.evaluation
        test = evaluation.data if evaluation else None
        datasets = datasets_of_rows(self._path, self._seed, training, test)
        if datasets is not None:
            self._source = RowsSource(datasets)
        else:
            # Before the library starts its threads, which a forked process would lack.
            starts = forked_loaders(self._path, self._seed, training, test)
            first_of_test = len(training.samples)
            ends = [first_of_test, first_of_test + (len(test.samples) if test else 0)]
            self._source = PoolSource(LoaderPool(starts), ends, 0)
        self._start(self._source)
        return self._yield_batches()

    def _yield_batches(self) -> Iterator[Any]:
        request = self._serve()
        while isinstance(request, Pass):
            batch = self._open(request)
            # A loop that is left closes this generator, also by an exception: main() tells of it.
            yield batch
            if self._pass is not None:
                raise UserError("the loop went on without scavenger.step(loss) for its batch", "",
                                "call it once for each batch")
            request, self._next = self._next, None
        self._log.send(is_last=True)
        self.has_ended = True
        the_script.place = _end_of(the_script.place, request.place)

    def require_ended(self) -> None:
        """Raise UserError if the script has ended before its job has."""
        if not the_script.loop_began:
            raise without_loop()
        if not self.has_ended:
            iteration = the_script.place.iteration if the_script.place else 0
            raise UserError(f"the script left its loop in iteration {iteration}", str(self._path),
                            "let the job decide when it ends: scavenger.loader(dataset, "
                            "epochs=...), or stop.early_stopping")

    def _open(self, request: Pass) -> Any:
        assert self._source is not None
        batch = request.batch
        the_script.place = Place(batch.iteration, batch.rank, batch.workers,
                                 batch.global_batch_size, batch.first_position)
        self._pass = request
        self._source.open(batch)
        rows = self._source.rows(0, batch.size)
        self._log.send()
        state = the_script.state
        assert state is not None
        state.bring_buffers()
        seed_everything(request.random_key)
        assert self._model is not None and self._model.collector is not None
        self._model.collector.record = record_of(state.device)
        self._model.collector.record.begin_pass()
        return rows

    def step(self, loss: torch.Tensor, backward: bool) -> bool:
        """Compute the gradient, wait until the iteration has ended, and say whether it counts."""
        if self._pass is None:
            raise UserError("scavenger.step() was called without a batch, or twice for one", "",
                            "call it once for each batch")
        assert the_script.stepped is not None and the_script.place is not None
        the_script.stepped.require_unchanged()
        request, iteration = self._pass, the_script.place.iteration
        self._compute(request, loss, backward)
        is_probe = bool(request.batch.is_probe)
        self._pass = None
        self._handover.answer()
        self._next = self._serve()
        counts = isinstance(self._next, End) or (
            not is_probe and self._next.batch.iteration != iteration)
        if not counts:
            self._log.drop(iteration)
        return counts

    def _compute(self, request: Pass, loss: torch.Tensor, backward: bool) -> None:
        assert self._model is not None and self._model.collector is not None
        collector, state = self._model.collector, the_script.state
        assert state is not None and self._source is not None
        record = collector.record
        request.step.data_wait_seconds = self._source.wait_seconds
        if not record.add_loss(loss):
            record.fill(request.step)
            return  # the library tells of it
        collector.begin(request.worker)
        if backward:
            collector.is_active = True
            try:
                loss.backward()
            finally:
                collector.is_active = False
        collector.collect_all()
        state.settle_buffers()
        record.end_pass()
        state.fetch_buffers()
        collector.finish()
        record.fill(request.step)

    def log(self, values: Mapping[str, float]) -> None:
        """Keep the values of rank 0 until they may be sent."""
        place = the_script.known_place("log()")
        if place.rank == 0:
            self._log.keep(values, place.iteration)

    def _serve(self) -> Any:
        """Carry out what the library asks for until it has a batch or the job ends.

        A worker that has left the job before its end, or must end with an error, does so here: the
        memory of its weights is gone.
        """
        while True:
            request = self._handover.next()
            if isinstance(request, Pass):
                return request
            if isinstance(request, End):
                if request.place is None:
                    leave(self.end() if request.exit_code is None else request.exit_code)
                return request
            try:
                request.function()
                self._handover.answer()
            except BaseException as error:  # it is the library that tells the job
                self._handover.answer(error)

    def end(self) -> int:
        """Let the library end, and return its exit code.

        The worker is a part of its job until then: its connection says that it lives, so no machine
        is given back where the code after the loop still runs.
        """
        self._handover.answer()
        return int(self._handover.next().exit_code)


def leave(exit_code: int) -> None:
    """End this process, whatever its other threads do."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)


def main(words: Sequence[str]) -> int:
    """Run the worker: SEED FILE ARGUMENTS..., with the launch ticket on standard input."""
    seed, path, arguments = int(words[0]), pathlib.Path(words[1]), list(words[2:])
    ticket, told = read_ticket(take_input())
    torch.set_flush_denormal(True)
    runner = ScriptRunner(path, seed, native.load(), ticket)
    the_script.runner = runner
    try:
        kind = json.loads(told.get("config", "{}")).get("device", "auto")
        the_script.device = choice.choose(kind, told.get("index", 0))
        run_script(path, arguments, seed)
        runner.require_ended()
    except (UserError, Failure) as error:
        leave(runner.fail(error))
    return runner.end()
