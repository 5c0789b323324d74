"""Weights, gradients and buffers on a GPU, beside those in the host's memory.

Weights go to the device in one copy before a pass. Gradients leave it as the backward pass finishes
them, on a stream of their own, in pieces of neighbours. To begin a copy or a kernel takes the host
tens of microseconds, and it has to begin all of a pass: so neighbours share these, too. The device
copies straight from and to the library's vectors if their memory can be pinned where it is.
"""

from __future__ import annotations

import collections
import contextlib
import math
from typing import Any, Callable, ContextManager, Deque, Dict, List, NamedTuple, Optional, Sequence
from typing import Tuple

import torch

PIECE_FLOATS = 1 << 18  # fewer are copied in less time than the host takes to begin it
ALIGNMENT = 16  # bytes; of the buffers in their vector


class Streams:
    """The device's order of work: copies of gradients have a stream beside that of the passes."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._side = torch.cuda.Stream(device) if device.type == "cuda" else None

    def beside(self) -> ContextManager[Any]:
        """Begin work that follows what was begun so far, but runs beside what comes next."""
        if self._side is None:
            return contextlib.nullcontext()
        self._side.wait_stream(torch.cuda.current_stream(self._device))
        return torch.cuda.stream(self._side)

    def mark(self) -> Optional[torch.cuda.Event]:
        """Return an event of the work begun within beside(); None: it is done."""
        if self._side is None:
            return None
        event = torch.cuda.Event()
        event.record(self._side)
        return event

    def wait(self) -> None:
        """Wait for all work of this process on the device."""
        if self._side is not None:
            self._side.synchronize()
            torch.cuda.current_stream(self._device).synchronize()


class Pinning:
    """Memory of the host that the device may copy from and to by itself."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._runtime: Any = torch.cuda.cudart() if device.type == "cuda" else None
        self._pinned: Dict[int, bool] = {}

    def pin(self, vector: torch.Tensor) -> None:
        """Pin a vector where it is, if the system allows it: copies are slower otherwise."""
        address = vector.data_ptr()
        if self._runtime is None or address in self._pinned:
            return
        status = self._runtime.cudaHostRegister(address, vector.numel() * vector.element_size(), 1)
        self._pinned[address] = int(status) == 0
        if not self._pinned[address]:
            with contextlib.suppress(RuntimeError):  # CUDA tells the next kernel of it, too
                torch.ones(1, device=self._device)

    def release(self) -> None:
        """Release all of it, before its memory goes."""
        for address, is_pinned in self._pinned.items():
            if is_pinned:
                self._runtime.cudaHostUnregister(address)
        self._pinned.clear()


class Piece(NamedTuple):
    """Neighbours in the flat vectors, which leave the device together."""

    parameters: List[int]
    first: int
    last: int


def pieces_of(offsets: Sequence[int], sizes: Sequence[int], least: int) -> List[Piece]:
    """Divide the parameters into runs of at least so many floats, but for the last run."""
    found: List[Piece] = []
    begun: List[int] = []
    for index, (offset, size) in enumerate(zip(offsets, sizes)):
        begun.append(index)
        first, last = offsets[begun[0]], offset + size
        if last - first >= least or index == len(sizes) - 1:
            found.append(Piece(begun, first, last))
            begun = []
    return found


Finished = Tuple[int, Optional[torch.Tensor]]  # a parameter; its gradient, unless it is in its place


def copy_all(places: List[torch.Tensor], values: List[torch.Tensor]) -> None:
    """Begin to copy each value to its place: in one kernel from PyTorch 2.2 on."""
    if hasattr(torch, "_foreach_copy_"):
        torch._foreach_copy_(places, values)
        return
    for place, value in zip(places, values):
        place.copy_(value)


class Mirror:
    """Flat vectors of weights and gradients on a device. Thread: one at a time."""

    def __init__(self, device: torch.device, shapes: Sequence[torch.Size], offsets: Sequence[int],
                 flat_size: int, piece_floats: int = PIECE_FLOATS) -> None:
        sizes = [math.prod(shape) for shape in shapes]
        self._flat_size = flat_size
        self._streams = Streams(device)
        self._pinning = Pinning(device)
        self._weights = torch.zeros(flat_size, device=device)
        self._gradients = torch.zeros(flat_size, device=device)
        self._ranges = [(offset, offset + size) for offset, size in zip(offsets, sizes)]
        self.weights = self._views(self._weights, shapes)
        self.gradients = self._views(self._gradients, shapes)
        self._pieces = pieces_of(offsets, sizes, piece_floats)
        self._piece_of = {index: number for number, piece in enumerate(self._pieces)
                          for index in piece.parameters}
        self._host: Optional[torch.Tensor] = None  # where gradients go
        self._ready: Callable[[int], None] = lambda _: None
        self._finished: List[List[Finished]] = []  # by piece: those that wait for neighbours
        self._under_way: Deque[Tuple[Optional[torch.cuda.Event], List[int]]] = collections.deque()
        self.has_told = False  # of a gradient, in this iteration

    def _views(self, flat: torch.Tensor, shapes: Sequence[torch.Size]) -> List[torch.Tensor]:
        return [flat[first:last].view(shape) for (first, last), shape in zip(self._ranges, shapes)]

    def _whole(self, parts: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return the host's flat vector that these are parts of, and pin it."""
        whole = parts[0].as_strided((self._flat_size,), (1,), 0)
        self._pinning.pin(whole)
        return whole

    def bring_weights(self, parts: Sequence[torch.Tensor]) -> None:
        """Begin to copy the host's weights, which what is computed next uses."""
        with torch.no_grad():
            self._weights.copy_(self._whole(parts), non_blocking=True)

    def use_gradients(self, parts: Sequence[torch.Tensor]) -> None:
        """Have gradients leave for this vector of the host from now on."""
        self._host = self._whole(parts)

    def begin(self, ready: Callable[[int], None]) -> None:
        """Begin an iteration, also in place of one that was given up."""
        if self._under_way:
            self._streams.wait()
            self._under_way.clear()
        self._ready = ready
        self._finished = [[] for _ in self._pieces]
        self.has_told = False

    def gradient_is_final(self, index: int, gradient: Optional[torch.Tensor] = None) -> None:
        """Say that what was begun so far finishes a parameter's gradient on the device.

        None: it is in `gradients`. Otherwise this one is copied there with its neighbours.
        """
        number = self._piece_of[index]
        waiting = self._finished[number]
        waiting.append((index, gradient))
        piece = self._pieces[number]
        if len(waiting) == len(piece.parameters):
            self._send(piece.first, piece.last, waiting)
            self._finished[number] = []
            self._tell_of_arrivals(False)

    def finish(self, work: Callable[[], bool] = lambda: False) -> None:
        """Return when all final gradients have arrived and were told of, and buffers, too.

        Until then, call `work` as long as it returns True.
        """
        for waiting in self._finished:
            for one in waiting:  # a neighbour of theirs has no gradient
                self._send(*self._ranges[one[0]], [one])
        self._tell_of_arrivals(True, work)
        self._streams.wait()

    def _send(self, first: int, last: int, finished: List[Finished]) -> None:
        assert self._host is not None
        with torch.no_grad():
            made = [one for one in finished if one[1] is not None]
            if made:
                copy_all([self.gradients[index] for index, _ in made], [one for _, one in made])
            with self._streams.beside():
                self._host[first:last].copy_(self._gradients[first:last], non_blocking=True)
                self._under_way.append((self._streams.mark(), [index for index, _ in finished]))

    def _tell_of_arrivals(self, waits: bool, work: Callable[[], bool] = lambda: False) -> None:
        while self._under_way:
            arrived, indices = self._under_way[0]
            # There may be work even if it has arrived: what others do with those before it.
            while work() and not (arrived is None or arrived.query()):
                pass
            if arrived is not None and waits:
                arrived.synchronize()
            if arrived is not None and not waits and not arrived.query():
                return
            self._under_way.popleft()
            for index in indices:
                self.has_told = True
                self._ready(index)

    def release(self) -> None:
        """End all access to the host's vectors, whose memory goes."""
        self._streams.wait()
        self._under_way.clear()
        self._pinning.release()
        self._host = None


class MirroredBuffers:
    """A module's buffers in one vector on the device, and their copies in the host's memory."""

    def __init__(self, device: torch.device, buffers: Sequence[torch.Tensor]) -> None:
        places, size = [], 0
        for buffer in buffers:
            count = buffer.numel() * buffer.element_size()
            places.append((size, count))
            size += -(-count // ALIGNMENT) * ALIGNMENT
        self._there = torch.zeros(size, dtype=torch.uint8, device=device)
        self._here = torch.zeros(size, dtype=torch.uint8, pin_memory=device.type == "cuda")
        self.on_device = self._typed(self._there, places, buffers)
        self.on_host = self._typed(self._here, places, buffers)
        for place, buffer in zip(self.on_device, buffers):
            place.copy_(buffer)
        self._here.copy_(self._there)

    @staticmethod
    def _typed(flat: torch.Tensor, places: Sequence[Tuple[int, int]],
               buffers: Sequence[torch.Tensor]) -> List[torch.Tensor]:
        # Views share a count of their changes, and .data has its own: else a layer that changes its
        # buffer makes autograd refuse the backward passes of all layers before it.
        return [flat[first:first + count].view(buffer.dtype).view(buffer.shape).data
                for (first, count), buffer in zip(places, buffers)]

    def bring(self) -> None:
        """Begin to copy the host's to the device."""
        self._there.copy_(self._here, non_blocking=True)

    def fetch(self) -> None:
        """Begin to copy the device's to the host, where they are after Mirror.finish()."""
        self._here.copy_(self._there, non_blocking=True)
