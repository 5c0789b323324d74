"""Which samples are held back for testing if there are no test data."""

from __future__ import annotations

from typing import Any, Tuple

import numpy

from scavenger.problems import UserError


def _scramble(numbers: numpy.ndarray) -> numpy.ndarray:
    """Return the output of splitmix64 for each number (Steele, Lea and Flood, 2014)."""
    with numpy.errstate(over="ignore"):
        value = (numbers + numpy.uint64(1)) * numpy.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        return value ^ (value >> numpy.uint64(31))


def divide(count: int, share: float) -> Tuple[numpy.ndarray, numpy.ndarray]:
    """Return the indices of the training and of the test samples, each ascending.

    They follow from the arguments alone, on every machine. Raises UserError if one would be empty.
    """
    held_back = round(count * share)
    if held_back == 0 or held_back == count:
        raise UserError(f"{share} of {count} samples leaves {held_back} for testing and "
                        f"{count - held_back} for training", "data.validation_share",
                        "use another share, or name test data in data.test")
    order = numpy.argsort(_scramble(numpy.arange(count, dtype=numpy.uint64)), kind="stable")
    return numpy.sort(order[held_back:]), numpy.sort(order[:held_back])


class Part:
    """Some samples of a map-style data set."""

    def __init__(self, dataset: Any, indices: numpy.ndarray) -> None:
        self.dataset = dataset
        self.indices = indices

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        """Return a sample."""
        return self.dataset[int(self.indices[index])]
