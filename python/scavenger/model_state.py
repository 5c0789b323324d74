"""The tensors of a user's module: parameters that are views of shared memory, and buffers.

On a GPU they are views of vectors there, which mirror the host's (mirror.py).
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch

from scavenger import native
from scavenger.devices.choice import is_apart
from scavenger.devices.mirror import Mirror, MirroredBuffers
from scavenger.problems import UserError

# Parameters of bfloat16 are copies, rounded, of weights that the job has in 32 bits.
TRAINED_TYPES = (torch.float32, torch.bfloat16)
DEVICES = ("cpu", "cuda")
COMPILED_PREFIX = "_orig_mod."  # torch.compile puts it before the names of what it wraps
FROZEN_MARK = "frozen:sha256"
TYPES = {
    torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8",
    torch.uint8: "U8", torch.bool: "BOOL",
}


def make_module(make_model: Any, seed: int) -> torch.nn.Module:
    """Call make_model() with seeded random numbers and check what it returns. Raises UserError."""
    torch.manual_seed(seed)
    return checked_module(make_model(), "make_model()")


def checked_module(module: Any, origin: str) -> torch.nn.Module:
    """Return what a user's function or script has made, if it can be trained. Raises UserError."""
    if not isinstance(module, torch.nn.Module):
        raise UserError(f"{origin} returned {type(module).__name__}, not a torch.nn.Module",
                        "", "return the module itself")
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if not trained:
        raise UserError("the model has no parameters, so there is nothing to train", origin,
                        "leave requires_grad of some parameters on")
    for name, parameter in module.named_parameters():
        if parameter.requires_grad and parameter.dtype not in TRAINED_TYPES:
            raise UserError(f"parameter {name} is of type {parameter.dtype}", origin,
                            "use model.float(), or model.bfloat16() to compute in half the memory")
        if parameter.requires_grad and parameter.numel() == 0:
            raise UserError(f"parameter {name} is empty", origin,
                            "give it its size before training")
    devices = sorted({str(parameter.device) for parameter in trained})
    if len(devices) > 1 or trained[0].device.type not in DEVICES:
        raise UserError(f"parameters are on {' and '.join(devices)}", origin,
                        "have the whole model on the CPU or on one GPU: model.to(scavenger.device)")
    return module


def plain_name(name: str) -> str:
    """Return the name that a parameter has in the module that torch.compile has wrapped."""
    return name.replace(COMPILED_PREFIX, "")


def floats_at(address: int, count: int) -> torch.Tensor:
    """Return the floats in memory at an address, without a copy."""
    return torch.frombuffer((ctypes.c_float * count).from_address(address), dtype=torch.float32)


class ModelState:
    """Binds a module to the library's flat vectors, and describes its tensors to it."""

    def __init__(self, module: torch.nn.Module, device: Optional[torch.device] = None) -> None:
        """Move the module to the device; None: it is where it computes."""
        self.module = module
        self.names: List[str] = []
        self.parameters: List[torch.nn.Parameter] = []
        for name, parameter in module.named_parameters():  # tied ones come once
            if parameter.requires_grad:
                self.names.append(plain_name(name))
                self.parameters.append(parameter)
        self.initial = [parameter.detach().to("cpu", copy=True) for parameter in self.parameters]
        self._mark = self._frozen_mark()
        self.device = device or self.parameters[0].device
        module.to(self.device)
        self.mirror: Optional[Mirror] = None  # from the first vector on, if the device is apart
        # Of parameters that are rounded copies: their own memory.
        self._rounded = [None if parameter.dtype == torch.float32 else parameter.detach().clone()
                         for parameter in self.parameters]
        self._weights: List[torch.Tensor] = []
        self.buffers = self._adopt_buffers()
        self._mirrored_buffers = self._mirror_buffers() if is_apart(self.device) else None
        self._views: Dict[int, List[torch.Tensor]] = {}
        # Flat vectors whose views are kept: the library alternates between two. An optimizer that
        # is stepped here has more of them.
        self.kept_views = 4
        self._kept: List[Any] = []  # memory of what describe() returned

    def _adopt_buffers(self) -> List[Tuple[str, torch.nn.Module, str, torch.Tensor]]:
        """Return (name, module, its name there, tensor) of each buffer of the state_dict."""
        found = []
        seen: Dict[int, str] = {}
        for prefix, module in self.module.named_modules():
            for name, buffer in module._buffers.items():
                if buffer is None or buffer.numel() == 0 or id(buffer) in seen:
                    continue
                if name in module._non_persistent_buffers_set:
                    continue
                full = plain_name(f"{prefix}.{name}" if prefix else name)
                if buffer.dtype not in TYPES:
                    raise UserError(f"buffer {full} is of type {buffer.dtype}", "make_model()",
                                    "use buffers of floats, integers or booleans")
                own = buffer.detach().clone(memory_format=torch.contiguous_format)
                seen[id(own)] = full
                module._buffers[name] = own
                found.append((full, module, name, own))
        return found

    def _mirror_buffers(self) -> MirroredBuffers:
        mirrored = MirroredBuffers(self.device, [tensor for _, _, _, tensor in self.buffers])
        self.buffers = [(full, module, name, own) for (full, module, name, _), own
                        in zip(self.buffers, mirrored.on_device)]
        for _, module, name, own in self.buffers:
            module._buffers[name] = own
        return mirrored

    def bring_buffers(self) -> None:
        """Have a pass use the buffers as the library has them."""
        if self._mirrored_buffers is not None:
            self._mirrored_buffers.bring()

    def fetch_buffers(self) -> None:
        """Have the library see the buffers as a pass has left them, when the pass has ended."""
        if self._mirrored_buffers is not None:
            self._mirrored_buffers.fetch()

    def copy_of_buffers(self) -> List[torch.Tensor]:
        """Return what put_back_buffers() takes."""
        if self._mirrored_buffers is not None:
            return []  # the library's memory has them until fetch_buffers()
        return [tensor.clone() for _, _, _, tensor in self.buffers]

    def put_back_buffers(self, before: List[torch.Tensor]) -> None:
        """Undo what passes that did not come to fetch_buffers() have changed."""
        self.bring_buffers()
        with torch.no_grad():
            for value, (_, _, _, tensor) in zip(before, self.buffers):
                tensor.copy_(value)

    def _frozen_mark(self) -> torch.Tensor:
        """Return what identifies the parameters that are not trained; empty if there are none."""
        digest = hashlib.sha256()
        is_any = False
        for name, parameter in self.module.named_parameters():
            if parameter.requires_grad:
                continue
            is_any = True
            digest.update(plain_name(name).encode())
            flat = parameter.detach().cpu().contiguous().flatten()
            digest.update(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
        raw = digest.digest()
        numbers = [raw[i] + 256 * raw[i + 1] for i in range(0, len(raw), 2)]
        return torch.tensor(numbers if is_any else [], dtype=torch.float32)

    def describe(self, model: native.Model) -> None:
        """Fill in the tensors for the library."""
        parameters = [self._tensor(name, tensor, torch.float32)
                      for name, tensor in zip(self.names, self.parameters)]
        on_host = (self._mirrored_buffers.on_host if self._mirrored_buffers is not None
                   else [tensor for _, _, _, tensor in self.buffers])
        buffers = [self._tensor(name, tensor)
                   for (name, _, _, _), tensor in zip(self.buffers, on_host)]
        if self._mark.numel() > 0:
            buffers.append(self._tensor(FROZEN_MARK, self._mark))
        model.parameters = self._array(parameters)
        model.parameter_count = len(parameters)
        model.buffers = self._array(buffers)
        model.buffer_count = len(buffers)

    def _array(self, tensors: List[native.Tensor]) -> Any:
        array = (native.Tensor * max(1, len(tensors)))(*tensors)
        self._kept.append(array)
        return array

    def _tensor(self, name: str, tensor: torch.Tensor,
                dtype: Optional[torch.dtype] = None) -> native.Tensor:
        shape = (ctypes.c_int64 * max(1, tensor.dim()))(*tensor.shape)
        self._kept.append(shape)
        return native.Tensor(name.encode(), TYPES[dtype or tensor.dtype].encode(), shape, tensor.dim(),
                             tensor.data_ptr())

    def views_of(self, address: int, offsets: List[int], flat_size: int) -> List[torch.Tensor]:
        """Return a view of each parameter's part of the flat vector at this address."""
        views = self._views.get(address)
        if views is None:
            if len(self._views) >= self.kept_views:
                self._views.clear()
            flat = floats_at(address, flat_size)
            if self.mirror is None and is_apart(self.device):
                shapes = [parameter.shape for parameter in self.parameters]
                self.mirror = Mirror(self.device, shapes, offsets, flat_size)
            views = [flat[first:first + parameter.numel()].view(parameter.shape)
                     for first, parameter in zip(offsets, self.parameters)]
            self._views[address] = views
        return views

    def use_weights(self, views: List[torch.Tensor]) -> None:
        """Make the parameters these views, or copies of them: rounded, or on the device."""
        self._weights = views
        if self.mirror is not None:
            self.mirror.bring_weights(views)
            views = self.mirror.weights
        for parameter, view, rounded in zip(self.parameters, views, self._rounded):
            parameter.data = view if rounded is None else rounded.copy_(view)

    def use_exact_weights(self, views: List[torch.Tensor]) -> None:
        """Make all parameters these views, for an optimizer; use_weights() comes next."""
        self._weights = views
        for parameter, view in zip(self.parameters, views):
            parameter.data = view

    @contextlib.contextmanager
    def exact_copies(self) -> Iterator[None]:
        """Make all parameters copies in 32 bits within a block, before there are views."""
        before = [parameter.data for parameter in self.parameters]
        self.use_exact_weights([data.to("cpu", torch.float32, copy=True) for data in before])
        try:
            yield
        finally:
            for parameter, data in zip(self.parameters, before):
                parameter.grad = None
                parameter.data = data

    def write_initial_weights(self) -> None:
        """Copy what make_model() has made into the weights in use."""
        with torch.no_grad():
            for view, value in zip(self._weights, self.initial):
                view.copy_(value)
        self.use_weights(self._weights)

    def release_vectors(self) -> None:
        """Keep nothing that knows of the library's vectors, whose memory may go."""
        self._views.clear()
        if self.mirror is not None:
            self.mirror.release()

    def settle_buffers(self) -> None:
        """Bring buffers that the model has replaced back to their place. Raises UserError."""
        for name, module, key, own in self.buffers:
            now = module._buffers.get(key)
            if now is own:
                continue
            if now is None or now.shape != own.shape or now.dtype != own.dtype:
                found = "None" if now is None else f"{list(now.shape)} of type {now.dtype}"
                raise UserError(f"buffer {name} has become {found}, and was {list(own.shape)} of "
                                f"type {own.dtype}", "", "give buffers their full size in "
                                "make_model(): only their values may change")
            with torch.no_grad():
                own.copy_(now)
            module._buffers[key] = own
