"""Data that can only be read from the beginning of a shard to its end."""

from __future__ import annotations

import bisect
import hashlib
import itertools
import random
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from scavenger.problems import UserError

KEPT_SHARDS = 2  # in memory of each loader process


class Shards:
    """A streaming data set: `read(shard)` yields the samples of one shard.

    `read` must yield the same samples in the same order each time. The samples of a shard are kept
    in memory while they are used, and shuffled there; the shards are read in a random order that
    changes each epoch. Each sample is used exactly once an epoch, whatever happens to the number of
    workers, and the order follows from the job's seed alone.

    `lengths` says how many samples each shard has. Without it, all are read once to count them.
    """

    def __init__(self, shards: Sequence[Any], read: Callable[[Any], Iterable[Any]],
                 lengths: Optional[Sequence[int]] = None) -> None:
        self._shards = list(shards)
        self._read = read
        if lengths is None:
            lengths = [sum(1 for _ in read(shard)) for shard in self._shards]
        if len(lengths) != len(self._shards):
            raise UserError(f"there are {len(self._shards)} shards and {len(lengths)} lengths", "",
                            "give Shards() a length for each shard")
        self._lengths = [int(length) for length in lengths]
        self._starts = list(itertools.accumulate(self._lengths, initial=0))
        self._size = self._starts[-1]
        self._kept: Dict[int, List[Any]] = {}
        self._orders: Dict[Tuple[int, int], List[int]] = {}
        self._epoch = -1  # of the two lists below
        self._order: List[int] = []  # of the shards
        self._ends: List[int] = []  # the place after the last sample of each, in this order
        self._seed = 0

    def __len__(self) -> int:
        """Return the number of samples."""
        return self._size

    def __getitem__(self, index: int) -> Any:
        """Return a sample by its place in the shards as they are."""
        shard = bisect.bisect_right(self._starts, index) - 1
        return self._samples(shard)[index - self._starts[shard]]

    def use_seed(self, seed: int) -> None:
        """Shuffle by this seed."""
        self._seed = seed
        self._epoch = -1
        self._orders.clear()

    def at_position(self, position: int) -> Tuple[int, Any]:
        """Return the sample at a position in the job's endless stream, with its number."""
        epoch, place = divmod(position, self._size)
        if epoch != self._epoch:
            self._epoch = epoch
            self._order = self._permutation(epoch, -1, len(self._shards))
            self._ends = list(itertools.accumulate(self._lengths[shard] for shard in self._order))
        step = bisect.bisect_right(self._ends, place)
        shard = self._order[step]
        within = place - (self._ends[step] - self._lengths[shard])
        offset = self._permutation(epoch, shard, self._lengths[shard])[within]
        return self._starts[shard] + offset, self._samples(shard)[offset]

    def _permutation(self, epoch: int, shard: int, count: int) -> List[int]:
        """Return a permutation: of the shards if `shard` is -1, or of the samples of one."""
        key = (epoch, shard)
        if key not in self._orders:
            if len(self._orders) > 4 * KEPT_SHARDS:
                self._orders.clear()
            order = list(range(count))
            text = f"{self._seed} {epoch} {shard}".encode()
            random.Random(hashlib.sha256(text).digest()).shuffle(order)
            self._orders[key] = order
        return self._orders[key]

    def _samples(self, shard: int) -> List[Any]:
        if shard not in self._kept:
            samples = list(self._read(self._shards[shard]))
            if len(samples) != self._lengths[shard]:
                raise UserError(f"shard {self._shards[shard]} has {len(samples)} samples, and had "
                                f"{self._lengths[shard]} before", "",
                                "have read() yield the same samples each time")
            while len(self._kept) >= KEPT_SHARDS:
                self._kept.pop(next(iter(self._kept)))
            self._kept[shard] = samples
        return self._kept[shard]
