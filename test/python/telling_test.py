"""What is wrong with a user's function is told: what evaluate() returns, where it failed, and no exception is lost."""

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


@unittest.skipIf(importlib.util.find_spec("torch") is None, "PyTorch for Python is not installed")
class TellingTest(unittest.TestCase):
    def test_an_exception_that_nobody_expected_is_told_in_one_line_with_its_traceback(self):
        from scavenger import native
        from scavenger.host_program import _answering

        told = {}

        class Library:
            def scavenger_worker_explain(self, *words):
                told["words"] = [word.decode() for word in words]

            def scavenger_worker_show_traceback(self, text):
                told["traceback"] = text.decode()

        def train():
            raise KeyError("odd\nname")

        self.assertEqual(_answering(Library(), train)(None), native.FAILED)
        self.assertIn("the worker's Python failed in train(): KeyError: 'odd", told["words"][0])
        self.assertNotIn("\n", told["words"][0])
        self.assertRegex(told["words"][1], "telling_test.py, line [0-9]+, in train")
        self.assertIn("Traceback (most recent call last)", told["traceback"])

    def test_the_place_is_the_line_that_asked_a_library_for_it(self):
        import torch
        from scavenger.problems import innermost_place
        try:
            torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.zeros(5, dtype=torch.int64))
        except (ValueError, RuntimeError) as error:
            self.assertIn("telling_test.py", innermost_place(error))
        else:
            self.fail("no error")


if __name__ == "__main__":
    unittest.main()
