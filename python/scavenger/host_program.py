"""What the worker library asks of a model in Python."""

from __future__ import annotations

import ctypes
import json
import pathlib
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

import torch

from scavenger import native, user_file
from scavenger.devices import choice
from scavenger.devices.handles import make_handles
from scavenger.inspection import stepped_here
from scavenger.loading import early_fork_server
from scavenger.loading.loader_pool import (
    BuiltInSource,
    LoaderPool,
    PoolSource,
    importing_loaders,
)
from scavenger.loading.loader_process import Datasets
from scavenger.loading.rows_source import RowsSource
from scavenger.model_state import ModelState, make_module
from scavenger.optimizers.stepped_here import SteppedHere
from scavenger.problems import Failure, UserError, blaming, user_error
from scavenger.trainer import Settings, Trainer


class Worker:
    """Answers what the library asks of the host program."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._state: Optional[ModelState] = None
        self._trainer: Optional[Trainer] = None
        self._own_data: Optional[Union[PoolSource, RowsSource]] = None
        self._stepped: Optional[SteppedHere] = None
        self._seed = 0
        self._offsets: List[int] = []
        self._flat_size = 0

    def set_up(self, job: native.Job, model: native.Model) -> None:
        """Make the model and the loader processes that the configuration asks for."""
        config = json.loads(job.config)
        data = json.loads(job.data)
        torch.set_num_threads(job.threads)
        torch.set_flush_denormal(True)
        place = choice.choose(config.get("device", "auto"), job.index)
        choice.use_kernels(config.get("compute", {}))
        make_handles(place)
        file = user_file.load(pathlib.Path(config["model"]["file"]), config["data"])
        with blaming("make_model()"):
            module = make_module(file.make_model, config["seed"])
        module.train()
        self._state = ModelState(module, place)
        self._seed = config["seed"]
        if config["sync"]["strategy"] == "all_reduce":
            self._stepped = stepped_here(file, self._state)
            require_optimizer(self._stepped.names, config)
        settings = Settings.of(config, data, job.index)
        source: Any = BuiltInSource()
        if config["data"]["train"]["format"] in user_file.PYTHON_FORMATS:
            source = self._own_data = self._data_of(file, config, settings)
            model.batches_ahead = source.batches_ahead
        early_fork_server.end()
        model.place = self.describe_place(place)
        self._trainer = Trainer(file, self._state, settings, source,
                                self._library.scavenger_worker_gradient_ready,
                                self._library.scavenger_worker_work_ahead)
        self._state.describe(model)

    def describe_place(self, place: torch.device) -> bytes:
        """Return the device's name for the library, which keeps no copy."""
        self._place = choice.name_of(place).encode()
        return self._place

    def _data_of(self, file: user_file.UserFile, config: Dict[str, Any],
                 settings: Settings) -> Union[PoolSource, RowsSource]:
        train = config["data"]["train"]["samples"]
        test = config["data"]["test"]["samples"]
        if user_file.has_rows(file):
            datasets = Datasets(file, config["seed"], train)
            datasets.make_all()
            return RowsSource(datasets)
        path = file.path if user_file.is_needed_to_load(file) else None
        pool = LoaderPool(importing_loaders(path, config["seed"], train, config["data"]))
        source = PoolSource(pool, [train, train + test], settings.micro_batch)
        source.use_limits(config)
        return source

    def _views(self, address: int) -> List[torch.Tensor]:
        assert self._state is not None
        if not self._offsets:
            offsets = self._library.scavenger_worker_parameter_offsets()
            self._offsets = [offsets[i] for i in range(len(self._state.parameters))]
            self._flat_size = self._library.scavenger_worker_flat_size()
        return self._state.views_of(address, self._offsets, self._flat_size)

    def use_threads(self, threads: int) -> None:
        """Compute with so many threads."""
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)

    def use_weights(self, address: int) -> None:
        """Make the parameters views of this memory."""
        assert self._state is not None
        self._state.use_weights(self._views(address))

    def use_gradients(self, address: int) -> None:
        """Write gradients to this memory."""
        assert self._trainer is not None
        self._trainer.use_gradients(self._views(address))

    def release_vectors(self) -> None:
        """Have a GPU copy nothing from or to the library's vectors any more."""
        if self._state is not None:
            self._state.release_vectors()

    def write_initial_weights(self) -> None:
        """Write what make_model() has made."""
        assert self._state is not None
        self._state.write_initial_weights()

    def forward_backward(self, worker: int, batch: Any, key: int, step: Any) -> None:
        """Compute the gradient of a batch."""
        assert self._trainer is not None
        self._trainer.forward_backward(worker, batch.contents, key, step.contents)

    def evaluate(self, batch: Any, sums: Any) -> None:
        """Evaluate the model on a batch."""
        assert self._trainer is not None
        self._trainer.evaluate(batch.contents, sums.contents)

    def expect(self, batch: Any) -> None:
        """Begin to load a batch."""
        if self._own_data is not None:
            self._own_data.expect(batch.contents)

    def step(self, step: Any) -> None:
        """Step the optimizer."""
        assert self._stepped is not None
        self._stepped.step(step.contents, self._views, self._flat_size, self._seed)

    def end(self, end: Any) -> None:
        """Do nothing: the process ends."""


def require_optimizer(names: Optional[List[str]], config: Mapping[str, Any]) -> None:
    """Check that the optimizer is the one that the job was made for. Raises UserError.

    `names` are those of its state if workers step it.
    """
    expected = None
    if config["sync"]["strategy"] == "all_reduce":
        expected = config["optimizer"].get("state", [])
    if names == expected:
        return
    raise UserError(f"{_stepping(names)} in this worker, and {_stepping(expected)} when the job "
                    "began", "optimizer", "give every worker the same optimizer and the same PyTorch")


def _stepping(names: Optional[List[str]]) -> str:
    if names is None:
        return "the parameter server steps the optimizer"
    return f"workers step the optimizer, which remembers {', '.join(names) or 'nothing'},"


def _answering(library: Any, function: Callable[..., None]) -> Callable[..., int]:
    """Return the function with exceptions as the library takes them."""
    def call(_: Any, *arguments: Any) -> int:
        try:
            function(*arguments)
            return native.OK
        except UserError as error:
            what = error.headline if error.traceback else error.what
            library.scavenger_worker_explain(what.encode(), error.where.encode(),
                                             error.remedy.encode())
            library.scavenger_worker_show_traceback(error.traceback.encode())
            return native.BAD_INPUT
        except Failure as error:
            library.scavenger_worker_explain(error.what.encode(), b"", error.remedy.encode())
            return native.FAILED
        except BaseException as error:  # none may pass through C
            told = user_error(error, f"the worker's Python failed in {function.__name__}()")
            library.scavenger_worker_explain(told.what.encode(), told.where.encode(), b"")
            library.scavenger_worker_show_traceback(told.traceback.encode())
            return native.FAILED
    return call


def compute_threads() -> Optional[Callable[..., None]]:
    """Return GOMP_parallel of the OpenMP library that PyTorch computes with, for scavenger_worker.h.

    Others may be loaded beside it, whose threads would take the cores from PyTorch's. Nothing if
    this PyTorch computes with threads of its own.
    """
    if "ATen parallel backend: OpenMP" not in torch.__config__.parallel_info():
        return None
    try:
        tensors = ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
        return ctypes.cast(tensors.GOMP_parallel, native.InParallel)
    except (OSError, AttributeError):
        return None


def run() -> int:
    """Work until the job ends; return the exit code."""
    early_fork_server.begin()
    library = native.load()
    return serve(library, Worker(library), compute_threads())


def serve(library: Any, worker: Worker, in_parallel: Optional[Callable[..., None]]) -> int:
    """Have the worker answer the library until the job ends; return the exit code.

    `in_parallel` is what compute_threads() returns, or calls it on the thread that computes.
    """
    host = native.Host(struct_bytes=ctypes.sizeof(native.Host), interface_version=native.INTERFACE)
    if in_parallel is not None:
        host.in_parallel = in_parallel
    host.set_up = native.SetUp(_answering(
        library, lambda job, model: worker.set_up(job.contents, model.contents)))
    host.use_threads = native.UseThreads(_answering(library, worker.use_threads))
    host.use_weights = native.UseVector(_answering(library, worker.use_weights))
    host.use_gradients = native.UseVector(_answering(library, worker.use_gradients))
    host.write_initial_weights = native.Plain(_answering(library, worker.write_initial_weights))
    host.forward_backward = native.ForwardBackward(_answering(library, worker.forward_backward))
    host.evaluate = native.Evaluate(_answering(library, worker.evaluate))
    host.expect = native.Expect(_answering(library, worker.expect))
    host.end = native.EndWorker(_answering(library, worker.end))
    host.release_vectors = native.Release(lambda _: worker.release_vectors())
    host.step = native.StepOptimizer(_answering(library, worker.step))
    return int(library.scavenger_worker_run(ctypes.byref(host)))
