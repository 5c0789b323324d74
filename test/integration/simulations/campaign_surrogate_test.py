"""Campaigns that train a surrogate from their own results: it chooses points, lengthens simulations, and ends the campaign."""

import json
import math
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from campaign_job import CampaignJob  # noqa: E402

# A profile that depends on c smoothly, computed in one step. It waits for trainings, which may take much longer on a busy machine.
ANALYTIC_ENGINE = """#!/bin/sh
echo "begin $1 0 $2" >> "$3"
number=$(grep -c begin "$3"); waits=0
while [ $number -gt $((16 + 6 * $(grep -c '"advised"' "$(dirname "$3")/run/campaign.jsonl"))) ] && [ $waits -lt 600 ]; do sleep 0.2; waits=$((waits + 1)); done
sleep 0.4; touch state
awk -v c=$1 'BEGIN { print "x,y,e"; for (i = 0; i < 8; i++) printf "%d,%.6f,0.05\\n", i, 2 + sin(c / 10 + i / 2) }' > profile.csv
"""


# The same with error bars that are large, and fall with the steps; it goes on from its state.
NOISY_ENGINE = """#!/bin/sh
from=0; [ -e state ] && from=$(cat state)
echo "begin $1 $from $2" >> "$3"
sleep 0.1; echo $2 > state
awk -v c=$1 -v n=$2 'BEGIN { print "x,y,e"; for (i = 0; i < 8; i++) printf "%d,%.6f,%.6f\\n", i, 2 + sin(c / 10 + i / 2), 0.5 / sqrt(n) }' > profile.csv
"""


class CampaignSurrogateTest(CampaignJob):
    def test_surrogate_chooses_points_and_ends_the_campaign_after_kills(self):
        self.write_engine(ANALYTIC_ENGINE)
        config = self.write_config(
            points=40, selection={"holdout": 5, "rule": "uncertainty"}, machines={"count": 1},
            simulation={"steps": 1, "stop": {}, "checkpoint": {"files": ["state"]},
                        "result": {"files": ["profile.csv"],
                                   "profile": {"file": "profile.csv", "x": "x", "y": ["y"], "errors": ["e"]}}},
            surrogate={"target_rmse": 0.04, "first_results": 5, "retrain_results": 5, "members": 2, "hidden": [16],
                       "iterations": 500, "learning_rate": 0.02})
        process = self.start_campaign(config, "--run", self.run_folder())
        deadline = time.monotonic() + 180
        while not self.processes("scavenger-train"):
            self.assertLess(time.monotonic(), deadline, "no training")
            time.sleep(0.02)
        self.kill(process)  # in the middle of the first training
        self.assert_no_orphans()
        self.assertNotIn("advised", [line["event"] for line in self.log()])
        text = self.campaign("--resume", self.run_folder())
        self.assertIn("a surrogate was trained from", text)
        report = self.report()
        self.assertEqual(report["status"], "finished", text)
        self.assertIn("which is enough", report["reason"])
        self.assertGreater(report["skipped"], 0)
        advices = [line["of"] for line in self.log() if line["event"] == "advised"]
        self.assertLessEqual(advices[-1]["most_rmse"], 0.04)
        self.assertGreaterEqual(advices[-1]["profiles"], 2)
        self.check_surrogate_was_never_trained_on_the_holdout(report)
        self.assertGreater(self.check_advice_was_followed(), 0)
        self.assertEqual([training["results"] for training in report["surrogate"]["trainings"]],
                         [advice["results"] for advice in advices])
        self.assertGreater(report["surrogate"]["speed_up"], 0)
        self.assertIn("y predicted", (self.run_folder() / "report.html").read_text())
        self.check_predictions()
        self.check_books()
        self.campaign("--resume", self.run_folder())  # nothing is left to do
        self.assertEqual(self.report()["simulated"], report["simulated"])

    def test_simulation_whose_error_dominates_is_lengthened(self):
        self.write_engine(NOISY_ENGINE)
        config = self.write_config(
            points=12, selection={"holdout": 2, "rule": "uncertainty"}, machines={"count": 1},
            simulation={"steps": 1, "stop": {}, "checkpoint": {"files": ["state"]},
                        "result": {"files": ["profile.csv"],
                                   "profile": {"file": "profile.csv", "x": "x", "y": ["y"], "errors": ["e"]}}},
            surrogate={"first_results": 4, "retrain_results": 3, "most_doublings": 1, "members": 2, "hidden": [8],
                       "iterations": 300, "learning_rate": 0.02})
        # One slot, which waits for the first training: it is done before the space is exhausted.
        self.campaign(config, "--run", self.run_folder(), "--max-simulations", 6)
        self.campaign("--resume", self.run_folder(), "--max-simulations", 40)
        self.check_books()
        report = self.report()
        self.assertEqual((report["status"], report["done"]), ("finished", 12))
        longer = [s for s in report["simulations"] if s["multiple"] == 2]
        self.assertGreater(len(longer), 0)
        self.assertEqual({s["multiple"] for s in report["simulations"]}, {1, 2})
        begun = self.record.read_text().splitlines()
        for simulation in longer:
            self.assertEqual(simulation["steps"], 2)
            self.assertFalse(simulation["is_holdout"])
            self.assertIn(f"begin {simulation['point'] + 1} 1 2", begun)
            folder = self.run_folder() / "simulations" / f"{simulation['point']:04}"
            errors = [float((folder / name / "profile.csv").read_text().splitlines()[1].split(",")[2])
                      for name in ("result-x1", "result")]
            self.assertEqual(errors, [0.5, 0.353553])
        current = json.loads((self.run_folder() / "surrogate" / "current.json").read_text())
        self.assertEqual(dict(zip(current["points"], current["multiples"])),
                         {s["point"]: s["multiple"] for s in report["simulations"] if not s["is_holdout"]})
        self.assertIn("2 times the steps", (self.run_folder() / "report.html").read_text())

    def check_surrogate_was_never_trained_on_the_holdout(self, report):
        current = json.loads((self.run_folder() / "surrogate" / "current.json").read_text())
        holdout = {simulation["point"] for simulation in report["simulations"] if simulation["is_holdout"]}
        self.assertEqual(len(holdout), 5)
        self.assertLessEqual(set(current["holdout"]), holdout)
        self.assertFalse(set(current["points"]) & holdout)

    def check_predictions(self):
        """Between simulated points they are the engine's profile, within their error bars."""
        def predict(*arguments):
            return subprocess.run([job.programs / "scavenger-predict", self.run_folder(), *arguments], env=self.environment(),
                                  text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=180)
        done = predict("--at", "c=20.5")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual((lines[0], len(lines)), ("x,y,y_sigma", 9))
        for line in lines[1:]:
            x, y, sigma = map(float, line.split(","))
            self.assertGreater(sigma, 0)
            self.assertLess(abs(y - 2 - math.sin(2.05 + x / 2)), max(0.12, 5 * sigma))
        # Networks of a version that did not take the trend away have learned all of the profile.
        path = self.run_folder() / "surrogate" / "current.json"
        current = json.loads(path.read_text())
        self.assertTrue(current.pop("linear_trend"))
        whole = path.read_text()
        path.write_text(json.dumps(current))
        self.assertNotEqual(predict("--at", "c=20.5").stdout, done.stdout)
        # Lengths that are none are told.
        path.write_text(json.dumps({**json.loads(whole), "lengths": [0]}))
        done = predict("--at", "c=20.5")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("lengths", done.stderr)
        path.write_text(whole)
        for arguments, text in ((("--at", "c=41"), "outside of the space"), (("--at", "d=1"), 'no parameter "d"'),
                                ((), "add --at")):
            done = predict(*arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
            self.assertIn(text, done.stderr)

    def check_advice_was_followed(self):
        """After an advice, points that begin are the advised ones, in their order."""
        advised, taken, followed = [], set(), 0
        for line in self.log():
            if line["event"] == "advised":
                advised = line["of"]["points"]
            for decided in line["actions"]:
                if "start_task" not in decided or decided["start_task"]["point"] in taken:
                    continue
                point = decided["start_task"]["point"]
                advised = [other for other in advised if other not in taken]
                if advised:
                    self.assertEqual(point, advised[0])
                    followed += 1
                taken.add(point)
        return followed


if __name__ == "__main__":
    job.main()
