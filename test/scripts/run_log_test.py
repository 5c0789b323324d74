"""scripts/loggers/run_log.py: what becomes of events, and where it goes on."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "loggers"))
import run_log

START = {"time": 0.5, "event": "start", "utc": "2026-11-22T04:00:00Z"}
MEMBERSHIP = {"time": 1.0, "event": "membership", "batch_size": 64, "workers": 2, "first_iteration": 0}
SERIES = {"time": 2.0, "event": "iterations", "first": 0, "count": 2, "learning_rate": 0.1, "loss": [2.0, None], "seconds": [0.5, 0.25]}
BLOCK = {"time": 3.0, "event": "iteration_block", "first": 2, "count": 500, "learning_rate": 0.05,
         "loss": {"count": 500, "moments": [1.5, 0.1, 1.0, 2.0], "quantiles": []},
         "seconds": {"count": 0, "moments": [], "quantiles": []}}
EVALUATION = {"time": 4.5, "event": "evaluation", "iteration": 502, "split": "test", "loss": 1.25, "accuracy": None, "top5_accuracy": 0.75}
END = {"time": 5.0, "event": "end", "status": "max_iterations"}


class RunLogTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_folder = pathlib.Path(folder.name)

    def log(self, *events, end=""):
        with open(self.run_folder / "events.jsonl", "a") as file:
            file.write("".join(json.dumps(event) + "\n" for event in events) + end)
        return run_log.RunLog(self.run_folder)

    @staticmethod
    def values(points):
        return [(point.iteration, point.values) for _, point in points if point]

    def test_events_become_points(self):
        points = list(self.log(START, MEMBERSHIP, SERIES, BLOCK, EVALUATION).points(0))
        self.assertEqual(self.values(points), [
            (0, {"cluster/workers": 2, "cluster/batch_size": 64}),
            (2, {"train/loss": 2.0, "train/learning_rate": 0.1, "speed/iteration_seconds": 0.375, "speed/samples_per_second": 64 / 0.375}),
            (502, {"train/loss": 1.5, "train/learning_rate": 0.05}),
            (502, {"test/loss": 1.25, "test/top5_accuracy": 0.75})])
        self.assertEqual(points[-1][1].utc_seconds - points[1][1].utc_seconds, 3.5)

    def test_it_goes_on_behind_a_place_and_knows_what_was_before(self):
        log = self.log(START, MEMBERSHIP)
        (*_, (place, _)) = log.points(0)
        again = self.log(SERIES)
        self.assertEqual([point.values["speed/samples_per_second"] for _, point in again.points(place)], [64 / 0.375])
        self.assertEqual(list(log.points(place)), list(run_log.RunLog(self.run_folder).points(place)))

    def test_a_line_that_is_not_whole_is_left_for_later(self):
        log = self.log(START, end=json.dumps(MEMBERSHIP)[:20])
        self.assertEqual(len(list(log.points(0))), 1)
        with open(self.run_folder / "events.jsonl", "a") as file:
            file.write(json.dumps(MEMBERSHIP)[20:] + "\n")
        self.assertEqual(self.values(log.points(0)), [(0, {"cluster/workers": 2, "cluster/batch_size": 64})])

    def test_what_is_followed_ends_with_the_job_and_comes_in_parts(self):
        log = self.log(START, MEMBERSHIP, SERIES, BLOCK, EVALUATION, END)
        parts = list(run_log.batches(log, 0, follow=True, most=2))
        self.assertEqual([len(points) for _, points in parts], [2, 2, 0])
        self.assertEqual(parts[-1][0], (self.run_folder / "events.jsonl").stat().st_size)
        self.assertTrue(log.ended)
        self.assertEqual(list(run_log.batches(log, parts[-1][0], follow=True)), [])

    def test_a_configuration_becomes_flat(self):
        self.assertEqual(run_log.flat({"name": "a", "model": {"hidden": [64], "type": "mlp"}, "normalise": None}),
                         {"name": "a", "model.hidden": "[64]", "model.type": "mlp", "normalise": "null"})

    def test_a_folder_without_a_log_is_no_run(self):
        with self.assertRaisesRegex(run_log.RunError, "there is no events.jsonl"):
            run_log.RunLog(self.run_folder)


if __name__ == "__main__":
    unittest.main()
