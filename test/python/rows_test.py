"""Batches that are read at once are those that PyTorch's own collate makes of single samples."""

import csv
import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

HAS_TORCH = importlib.util.find_spec("torch") is not None
SAMPLES = 50


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python is not installed")
class RowsTest(unittest.TestCase):
    def setUp(self):
        import torch
        generator = torch.Generator().manual_seed(5)
        self.tensors = (torch.randn(SAMPLES, 2, 3, generator=generator), torch.arange(SAMPLES, dtype=torch.int32),
                        torch.rand(SAMPLES, generator=generator) > 0.5)

    def assert_same(self, one, other):
        self.assertIs(type(one), type(other))
        self.assertEqual(len(one), len(other))
        for mine, theirs in zip(one, other):
            self.assertEqual((mine.dtype, mine.shape, mine.stride()), (theirs.dtype, theirs.shape, theirs.stride()))
            self.assertTrue((mine == theirs).all())

    def test_they_are_the_batches_of_single_samples(self):
        import numpy
        import torch
        from scavenger.data.division import Part
        from scavenger.loading.whole_batches import rows_of
        from torch.utils.data import ConcatDataset, Subset, TensorDataset, default_collate
        whole = TensorDataset(*self.tensors)
        numbers = [7, 3, 3, 19]
        for dataset in (whole, Subset(whole, range(20, 40)), Part(whole, numpy.arange(0, SAMPLES, 2)),
                        Subset(Subset(whole, list(range(30))), list(range(29, 5, -1))), TensorDataset(self.tensors[1])):
            batch = rows_of(dataset, None)(torch.tensor(numbers))
            self.assert_same(batch, default_collate([dataset[number] for number in numbers]))
            batch[0].zero_()  # it is the user's own
        self.assertNotEqual(self.tensors[1].sum(), 0)
        self.assert_same(rows_of(whole, default_collate)(torch.tensor(numbers)), rows_of(whole, None)(torch.tensor(numbers)))

        class Noisy(TensorDataset):
            def __getitem__(self, index):
                return super().__getitem__(index)[0] + torch.randn(2, 3)

        for dataset, collate in [(Noisy(*self.tensors), None), (whole, list), (ConcatDataset([whole]), None),
                                 (TensorDataset(self.tensors[0].clone().requires_grad_()), None), (list(range(9)), None)]:
            self.assertIsNone(rows_of(dataset, collate), type(dataset))

    def test_a_loader_process_makes_them_of_both_splits(self):
        from scavenger.loading.loader_process import Datasets, Request
        from scavenger.user_file import UserFile
        from torch.utils.data import Subset, TensorDataset, default_collate
        whole = TensorDataset(*self.tensors)
        splits = {"train": whole, "test": Subset(whole, range(10, 20))}
        datasets = Datasets(UserFile(pathlib.Path(), lambda: None, make_dataset=splits.get), 1, SAMPLES)
        self.assert_same(datasets.load(Request(1, [4, 2], 0)), default_collate([whole[4], whole[2]]))
        test = datasets.load(Request(2, [SAMPLES, SAMPLES + 9], 0))
        self.assert_same(test, default_collate([whole[10], whole[19]]))
        both = datasets.load(Request(3, [SAMPLES - 1, SAMPLES], 0))
        self.assert_same(both, default_collate([whole[SAMPLES - 1], whole[10]]))

    def test_those_of_a_table(self):
        import torch
        from scavenger.user_file import has_rows, is_needed_to_load, of_data
        from scavenger.loading.whole_batches import rows_of
        folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_rows_"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        before = os.environ.get("SCAVENGER_CACHE_DIR")
        os.environ["SCAVENGER_CACHE_DIR"] = str(folder / "cache")
        self.addCleanup(lambda: os.environ.pop("SCAVENGER_CACHE_DIR") if before is None
                        else os.environ.update(SCAVENGER_CACHE_DIR=before))
        with open(folder / "a.csv", "w", newline="") as file:
            csv.writer(file).writerows([["x", "y", "kind"], *([i, i / 2, "ab"[i % 2]] for i in range(SAMPLES))])
        for classes, columns in ((2, {"label": "kind"}), (0, {"label": "y", "features": ["x"]})):
            files = {"format": "table", "files": [str(folder / "a.csv")]}
            data = {"train": files, "test": files, "columns": columns, "classes": classes}
            file = of_data(data)
            self.assertTrue(has_rows(file))
            self.assertFalse(is_needed_to_load(file))
            dataset = file.make_dataset("train")
            numbers = [3, 44, 3]
            self.assert_same(rows_of(dataset, file.collate)(torch.tensor(numbers)),
                             file.collate([dataset[number] for number in numbers]))
            self.assertIsNone(rows_of(dataset, lambda samples: samples))
            file.collate = lambda samples: samples
            self.assertFalse(has_rows(file))


if __name__ == "__main__":
    unittest.main()
