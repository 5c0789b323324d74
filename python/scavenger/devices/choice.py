"""The device on which a worker's model computes: the CPU, or one GPU of its machine."""

from __future__ import annotations

import os
from typing import Any, List, Mapping

import torch

from scavenger.problems import UserError

VISIBLE = "CUDA_VISIBLE_DEVICES"
CPU = torch.device("cpu")


def _visible_gpus() -> List[str]:
    """Return the names that CUDA knows this process's GPUs by, without a context on any of them."""
    if not torch.cuda.is_available():
        return []
    listed = os.environ.get(VISIBLE)
    if listed is not None:
        return [name.strip() for name in listed.split(",") if name.strip()]
    return [str(index) for index in range(torch.cuda.device_count())]


def choose(kind: str, index: int) -> torch.device:
    """Return the device of worker `index` of a job whose `device` is of this kind.

    The process sees no other GPU from now on, so that "cuda" in a user's code is the worker's own.
    Call it before anything is computed on a GPU. Raises UserError.
    """
    gpus = _visible_gpus() if kind != "cpu" else []
    if gpus:
        os.environ[VISIBLE] = gpus[index % len(gpus)]
        seen = torch.cuda.device_count()  # all of them if CUDA had begun to work before
        device = torch.device("cuda", index % max(seen, 1))
        torch.cuda.set_device(device)
        return device
    if kind == "cuda":
        raise UserError("this PyTorch finds no GPU", "device", "install a PyTorch for CUDA and "
                        "NVIDIA's driver, or set device to auto or cpu")
    os.environ[VISIBLE] = ""
    return CPU


def is_apart(device: torch.device) -> bool:
    """Return whether the device has a memory of its own."""
    return device.type != "cpu"


def name_of(device: torch.device) -> str:
    """Return what a log calls the device."""
    if device.type != "cuda":
        return device.type
    return f"{device} ({torch.cuda.get_device_name(device)})"


def use_kernels(compute: Mapping[str, Any]) -> None:
    """Have a GPU compute as the section `compute` of the configuration says."""
    is_tf32 = compute.get("precision") == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = is_tf32
    torch.backends.cudnn.allow_tf32 = is_tf32
    torch.backends.cudnn.benchmark = bool(compute.get("tune_kernels", False))


def _brought(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return the tensor on the device, without waiting for it if a GPU can copy it by itself."""
    if device.type == "cuda" and tensor.device.type == "cpu" and tensor.layout == torch.strided:
        return tensor.pin_memory().to(device, non_blocking=True)  # kept until it is copied
    return tensor.to(device)


def moved(value: Any, device: torch.device) -> Any:
    """Return a batch with its tensors on the device: of any nesting of lists, tuples and mappings."""
    if not is_apart(device):
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(moved(each, device) for each in value))
    if isinstance(value, (list, tuple)):
        return type(value)(moved(each, device) for each in value)
    if isinstance(value, dict):
        return {key: moved(each, device) for key, each in value.items()}
    if isinstance(value, torch.Tensor):
        return _brought(value, device)
    if callable(getattr(value, "to", None)):  # batches of transformers and torch_geometric
        return value.to(device)
    return value
