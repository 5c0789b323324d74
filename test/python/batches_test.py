"""Batches in the library's memory, as tensors: what users get is theirs, and no copy."""

import ctypes
import importlib.util
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

HAS_TORCH = importlib.util.find_spec("torch") is not None
ROWS, FEATURES = 4, 16


class Memory:
    """The library's memory of a batch, at a cache line or a little behind it."""

    def __init__(self, behind=0):
        self.floats = (ctypes.c_float * (ROWS * FEATURES + 32))()
        self.labels = (ctypes.c_int64 * (ROWS + 8))()
        self.shape = (ctypes.c_int64 * 1)(FEATURES)
        self.features_at = (ctypes.addressof(self.floats) + 63) // 64 * 64 + behind
        self.labels_at = (ctypes.addressof(self.labels) + 63) // 64 * 64

    def write(self, first):
        for place, kind, count in [(self.features_at, ctypes.c_float, ROWS * FEATURES),
                                   (self.labels_at, ctypes.c_int64, ROWS)]:
            (kind * count).from_address(place)[:] = [first + i for i in range(count)]

    def batch(self, size=ROWS):
        from scavenger import native
        return native.Batch(size=size, sample_dimensions=1, sample_shape=self.shape, features=self.features_at,
                            labels=self.labels_at)


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python is not installed")
class BatchesTest(unittest.TestCase):
    def test_rows_are_those_of_the_batch_that_is_open(self):
        from scavenger.loading.loader_pool import BuiltInSource
        source, memories = BuiltInSource(), [Memory(), Memory(behind=16)]
        for turn in range(6):  # as the library does: a few places in turns
            memory = memories[turn % 2]
            memory.write(100 * turn)
            source.open(memory.batch())
            inputs, targets = source.rows(1, 3)
            self.assertEqual(inputs[0, 0], 100 * turn + FEATURES)
            self.assertEqual(targets.tolist(), [100 * turn + 1, 100 * turn + 2])
            self.assertEqual(inputs.data_ptr() % 64, 0)
        source.open(memories[0].batch(size=2))  # the last batch of an evaluation
        self.assertEqual(source.rows(0, 2).inputs.shape, (2, FEATURES))

    def test_what_a_user_does_to_a_batch_is_gone_with_it(self):
        from scavenger.loading.loader_pool import BuiltInSource
        source, memory = BuiltInSource(), Memory()
        source.open(memory.batch())
        first = source.rows(0, ROWS)
        self.assertEqual(first.inputs.data_ptr(), memory.features_at)  # no copy
        first.inputs.requires_grad_()
        first.inputs.grad = first.inputs.detach().clone()
        first.targets.unsqueeze_(0)
        source.open(memory.batch())
        second = source.rows(0, ROWS)
        self.assertFalse(second.inputs.requires_grad)
        self.assertIsNone(second.inputs.grad)
        self.assertEqual(second.targets.shape, (ROWS,))

    def test_many_shapes_are_not_kept_for_ever(self):
        from scavenger import batches
        views, memory = batches.BatchViews(), Memory()
        for size in list(range(1, ROWS + 1)) * 20:
            memory.shape[0] = size
            self.assertEqual(views.of(memory.batch(size=ROWS)).inputs.shape, (ROWS, size))
        for size in range(1, 60):
            memory.shape[0] = 1 + size % FEATURES
            views.of(memory.batch(size=1 + size % ROWS))
        self.assertLessEqual(len(views._kept), batches.MOST_KEPT)


if __name__ == "__main__":
    unittest.main()
