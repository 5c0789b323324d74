"""The C interface of libscavenger_worker.so (scavenger_worker.h), for ctypes."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import pathlib
from typing import Any

INTERFACE = 1
OK = 0
BAD_INPUT = 1
FAILED = 2

NAME = "libscavenger_worker.so"


class Job(ctypes.Structure):
    """What the model is to be made for."""

    _fields_ = [
        ("struct_bytes", ctypes.c_uint64),
        ("config", ctypes.c_char_p),
        ("data", ctypes.c_char_p),
        ("index", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
    ]


class Tensor(ctypes.Structure):
    """The name, type and place of a parameter or buffer."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("dimensions", ctypes.c_uint32),
        ("memory", ctypes.c_void_p),
    ]


class Model(ctypes.Structure):
    """The tensors of the model."""

    _fields_ = [
        ("struct_bytes", ctypes.c_uint64),
        ("parameters", ctypes.POINTER(Tensor)),
        ("parameter_count", ctypes.c_uint32),
        ("buffers", ctypes.POINTER(Tensor)),
        ("buffer_count", ctypes.c_uint32),
        ("batches_ahead", ctypes.c_uint32),
        ("place", ctypes.c_char_p),
    ]


class Batch(ctypes.Structure):
    """The samples of one pass."""

    _fields_ = [
        ("struct_bytes", ctypes.c_uint64),
        ("first_position", ctypes.c_uint64),
        ("size", ctypes.c_uint32),
        ("sample_dimensions", ctypes.c_uint32),
        ("sample_shape", ctypes.POINTER(ctypes.c_int64)),
        ("features", ctypes.c_void_p),
        ("tokens", ctypes.c_void_p),
        ("target_shape", ctypes.POINTER(ctypes.c_int64)),
        ("target_dimensions", ctypes.c_uint32),
        ("is_for_training", ctypes.c_uint32),
        ("labels", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
        ("loss_terms", ctypes.c_double),
        ("iteration", ctypes.c_uint64),
        ("rank", ctypes.c_uint32),
        ("workers", ctypes.c_uint32),
        ("global_batch_size", ctypes.c_uint32),
        ("is_probe", ctypes.c_uint32),
    ]


class Step(ctypes.Structure):
    """The result of a forward and backward pass."""

    _fields_ = [
        ("struct_bytes", ctypes.c_uint64),
        ("loss", ctypes.c_double),
        ("forward_seconds", ctypes.c_double),
        ("backward_seconds", ctypes.c_double),
        ("data_wait_seconds", ctypes.c_double),
    ]


class End(ctypes.Structure):
    """How the worker has ended."""

    _fields_ = [
        ("struct_bytes", ctypes.c_uint64),
        ("iterations", ctypes.c_uint64),
        ("took_part", ctypes.c_uint32),
        ("rank", ctypes.c_uint32),
        ("workers", ctypes.c_uint32),
        ("global_batch_size", ctypes.c_uint32),
    ]


class OptimizerStep(ctypes.Structure):
    """One step of an optimizer that workers step: weights and state before and after it."""

    _fields_ = [
        ("struct_bytes", ctypes.c_uint64),
        ("iteration", ctypes.c_uint64),
        ("step_number", ctypes.c_uint64),
        ("epochs", ctypes.c_uint64),
        ("factor", ctypes.c_double),
        ("gradient", ctypes.c_void_p),
        ("before", ctypes.POINTER(ctypes.c_void_p)),
        ("to", ctypes.POINTER(ctypes.c_void_p)),
        ("vectors", ctypes.c_uint32),
    ]


class Sums(ctypes.Structure):
    """The sums of an evaluation."""

    _fields_ = [
        ("struct_bytes", ctypes.c_uint64),
        ("predictions", ctypes.c_uint64),
        ("correct", ctypes.c_uint64),
        ("correct_in_top5", ctypes.c_uint64),
        ("loss", ctypes.c_double),
        ("negative_log_likelihood", ctypes.c_double),
        ("squared_error", ctypes.c_double),
    ]


_context = ctypes.c_void_p
_int = ctypes.c_int
SetUp = ctypes.CFUNCTYPE(_int, _context, ctypes.POINTER(Job), ctypes.POINTER(Model))
UseThreads = ctypes.CFUNCTYPE(_int, _context, ctypes.c_uint32)
UseVector = ctypes.CFUNCTYPE(_int, _context, ctypes.c_void_p)
Plain = ctypes.CFUNCTYPE(_int, _context)
ForwardBackward = ctypes.CFUNCTYPE(
    _int, _context, ctypes.c_void_p, ctypes.POINTER(Batch), ctypes.c_uint64, ctypes.POINTER(Step)
)
Evaluate = ctypes.CFUNCTYPE(_int, _context, ctypes.POINTER(Batch), ctypes.POINTER(Sums))
Expect = ctypes.CFUNCTYPE(_int, _context, ctypes.POINTER(Batch))
EndWorker = ctypes.CFUNCTYPE(_int, _context, ctypes.POINTER(End))
StepOptimizer = ctypes.CFUNCTYPE(_int, _context, ctypes.POINTER(OptimizerStep))
Release = ctypes.CFUNCTYPE(None, _context)
InParallel = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)


class Host(ctypes.Structure):
    """The functions of the host program."""

    _fields_ = [
        ("struct_bytes", ctypes.c_uint64),
        ("interface_version", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("set_up", SetUp),
        ("use_threads", UseThreads),
        ("use_weights", UseVector),
        ("use_gradients", UseVector),
        ("write_initial_weights", Plain),
        ("forward_backward", ForwardBackward),
        ("evaluate", Evaluate),
        ("expect", Expect),
        ("end", EndWorker),
        ("step", StepOptimizer),
        ("in_parallel", InParallel),
        ("release_vectors", Release),
    ]


def library_path() -> pathlib.Path:
    """Return the path of the library: of the programs that started us, or else of the wheel."""
    beside = os.environ.get("SCAVENGER_PROGRAMS")
    if beside:
        return pathlib.Path(beside).parent / "lib" / NAME
    return pathlib.Path(__file__).parent / "lib" / NAME


def load() -> Any:
    """Open the library and declare its functions. Raises OSError if it is missing or another one."""
    # The wheel brings OpenSSL and zlib. Those of this Python come first, so that both use one.
    for name in ("ssl", "zlib"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    library = ctypes.CDLL(str(library_path()))
    library.scavenger_worker_interface.restype = ctypes.c_uint32
    found = library.scavenger_worker_interface()
    if found != INTERFACE:
        raise OSError(f"{library_path()} has interface {found}, and this package needs {INTERFACE}")
    library.scavenger_worker_version.restype = ctypes.c_char_p
    library.scavenger_worker_run.argtypes = [ctypes.POINTER(Host)]
    library.scavenger_worker_parameter_offsets.restype = ctypes.POINTER(ctypes.c_uint64)
    library.scavenger_worker_flat_size.restype = ctypes.c_uint64
    library.scavenger_worker_gradient_ready.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    library.scavenger_worker_gradient_ready.restype = None
    library.scavenger_worker_work_ahead.argtypes = [ctypes.c_void_p]
    library.scavenger_worker_work_ahead.restype = ctypes.c_int
    library.scavenger_worker_explain.argtypes = [ctypes.c_char_p] * 3
    library.scavenger_worker_explain.restype = None
    library.scavenger_worker_show_traceback.argtypes = [ctypes.c_char_p]
    library.scavenger_worker_show_traceback.restype = None
    library.scavenger_worker_log.argtypes = [
        ctypes.c_uint64, ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_double),
        ctypes.c_uint32]
    library.scavenger_worker_log.restype = None
    return library
