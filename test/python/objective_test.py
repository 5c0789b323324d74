"""What a user's evaluate() returns is counts and sums, or an error that says what was returned."""

import importlib.util
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))


@unittest.skipIf(importlib.util.find_spec("torch") is None, "PyTorch for Python is not installed")
class EvaluationTest(unittest.TestCase):
    def test_counts_come_as_numbers_or_tensors(self):
        import torch
        from scavenger.objective import sums_from
        for correct in (96, 96.0, torch.tensor(96), torch.tensor(96.0)):
            sums = sums_from({"loss": torch.tensor(0.5), "correct": correct, "squared_error": 1.5}, 128, 0.0)
            self.assertEqual((sums.predictions, sums.correct, sums.loss, sums.squared_error), (128, 96, 64.0, 1.5))
        self.assertEqual(sums_from({"predictions": 10, "correct": 10}, 2, 3.0).loss, 30.0)

    def test_what_is_no_count_is_refused(self):
        import torch
        from scavenger.objective import sums_from
        from scavenger.problems import UserError
        for returned, words in [({"correct": torch.tensor(0.95)}, "correct = 0.95 of 128 predictions"),
                                ({"correct": 129}, "correct = 129 of 128"), ({"correct": -1}, "correct = -1"),
                                ({"correct_in_top5": float("nan")}, "correct_in_top5 = nan"),
                                ({"predictions": 0}, "predictions = 0"), ({"predictions": 1.5}, "predictions = 1.5"),
                                ({"predictions": float("inf")}, "predictions = inf"), ({"loss": "a"}, "loss = a"),
                                ({"loss": torch.zeros(2)}, "loss = tensor"), ({"correct": None}, "correct = None"),
                                ({"accuracy": 1.0}, "accuracy"), (0.5, "float, not a dictionary")]:
            with self.subTest(words), self.assertRaises(UserError) as raised:
                sums_from(returned, 128, 0.0)
            self.assertIn(f"evaluate() returned {words}", raised.exception.what)


if __name__ == "__main__":
    unittest.main()
