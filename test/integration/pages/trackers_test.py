"""scripts/loggers with the real MLflow and W&B, offline: a live job, an ended one, twice, and after a kill."""

import importlib.util
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

LOGGERS = job.SOURCE / "scripts" / "loggers"
SMALL = (job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "evaluation.every_iterations=50", "--workers", 2)


def evaluations_of(run):
    return [(event["iteration"], event["accuracy"]) for event in job.events(run, "evaluation")]


class TrackerTest(job.JobTest):
    script = None

    def environment(self):
        inherited = {name: value for name, value in super().environment().items() if not name.startswith(("MLFLOW_", "WANDB_"))}
        return {**inherited, "WANDB_SILENT": "true", "HOME": str(self.folder), "SCAVENGER_CACHE_DIR": str(self.folder / "cache")}

    def sync_command(self, run, *arguments):
        return [sys.executable, str(LOGGERS / self.script), str(run), *self.options(), *arguments]

    def sync(self, run, *arguments, check=0):
        done = subprocess.run(self.sync_command(run, *arguments), env=self.environment(), cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, check, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def check_an_ended_job(self):
        run = self.run_folder()
        self.train(*SMALL, "--run", run, "--set", 'stop={"max_iterations": 200}')
        self.sync(run)
        self.assertEqual(self.logged(run, "test/accuracy"), evaluations_of(run))
        losses = self.logged(run, "train/loss")
        self.assertEqual(losses[-1][0], 200)
        self.sync(run)  # nothing is sent twice
        self.assertEqual(self.logged(run, "test/accuracy"), evaluations_of(run))
        self.assertEqual(self.logged(run, "train/loss"), losses)

    def check_a_job_that_is_followed_over_a_resume(self):
        run = self.run_folder()
        process = self.start(*SMALL, "--run", run, "--set", "stop.target=null", "--set", "stop.max_epochs=100000")
        self.wait_for_event(run, "evaluation", timeout=120)
        self.sync(run)
        first = self.logged(run, "test/accuracy")
        self.assertTrue(first)
        follower = subprocess.Popen(self.sync_command(run, "--follow"), env=self.environment(), cwd=self.folder, stdout=subprocess.DEVNULL)
        self.addCleanup(lambda: (follower.kill(), follower.wait()))
        count = len(job.events(run, "evaluation"))
        self.wait_for_event(run, "evaluation", count=count + 2, timeout=120)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=120)
        self.assertEqual(follower.wait(timeout=120), 0)  # the job has ended
        self.assertEqual(self.logged(run, "test/accuracy"), evaluations_of(run))
        self.train("--resume", run, "--quiet", "--set", f"stop.max_iterations={evaluations_of(run)[-1][0] + 120}")
        self.sync(run)
        self.assertEqual(self.logged(run, "test/accuracy"), evaluations_of(run))

    def check_what_is_no_run_folder(self):
        self.assertIn("there is no events.jsonl", self.sync(self.folder, check=1))
        os.mkfifo(self.folder / "events.jsonl")
        self.assertIn("there is no events.jsonl", self.sync(self.folder, check=1))


@unittest.skipUnless(importlib.util.find_spec("mlflow"), "mlflow-skinny is not installed")
class MlflowTest(TrackerTest):
    script = "mlflow_sync.py"

    def options(self):
        return ["--tracking-uri", f"file:{self.folder / 'mlruns'}"]

    def place(self, run):
        run_id = json.loads((run / ".mlflow_sync.json").read_text())["run_id"]
        (found,) = (self.folder / "mlruns").glob(f"*/{run_id}")
        return found

    def logged(self, run, name):
        """As MLflow's file store keeps them: "timestamp value step" a line."""
        lines = (self.place(run) / "metrics" / name).read_text().split("\n")
        return [(int(line.split()[2]), float(line.split()[1])) for line in lines if line]

    def test_an_ended_job_is_sent_once(self):
        self.check_an_ended_job()
        place = self.place(self.run_folder())
        self.assertEqual((place / "params" / "model.hidden").read_text(), "[32]")
        self.assertEqual((place / "params" / "optimizer.learning_rate").read_text(), "0.1")
        self.assertEqual((place / "tags" / "scavenger.status").read_text(), "max_iterations")

    def test_a_job_is_followed_and_goes_on_after_a_resume(self):
        self.check_a_job_that_is_followed_over_a_resume()

    def test_what_is_no_run_folder_is_said(self):
        self.check_what_is_no_run_folder()


def records_of(path):
    """The records of a .wandb file, which is a log in LevelDB's format behind a header of 7 bytes."""
    data, place, whole = path.read_bytes(), 7, b""
    while place + 7 <= len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        length, kind = struct.unpack("<HB", data[place + 4 : place + 7])
        part = data[place + 7 : place + 7 + length]
        place += 7 + length
        whole = part if kind in (1, 2) else whole + part
        if kind in (1, 4):
            yield whole


@unittest.skipUnless(importlib.util.find_spec("wandb"), "wandb is not installed")
class WandbTest(TrackerTest):
    script = "wandb_sync.py"

    def options(self):
        return ["--offline"]

    def records(self, run):
        from wandb.proto import wandb_internal_pb2

        for path in sorted(run.glob("wandb/offline-run-*/*.wandb"), key=lambda path: path.stat().st_mtime_ns):
            for data in records_of(path):
                record = wandb_internal_pb2.Record()
                record.ParseFromString(data)
                yield record

    @staticmethod
    def items(record):
        return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record}

    def logged(self, run, name):
        rows = [self.items(record.history.item) for record in self.records(run) if record.WhichOneof("record_type") == "history"]
        steps = [row["_step"] for row in rows]
        self.assertEqual(steps, sorted(set(steps)))  # what W&B takes
        return [(row["iteration"], row[name]) for row in rows if name in row]

    def test_an_ended_job_is_sent_once(self):
        self.check_an_ended_job()
        run = self.run_folder()
        runs = [record.run for record in self.records(run) if record.WhichOneof("record_type") == "run"]
        self.assertEqual(len({one.run_id for one in runs}), 1)
        self.assertEqual(self.items(runs[0].config.update)["model.hidden"], "[32]")
        summaries = [self.items(record.summary.update) for record in self.records(run) if record.WhichOneof("record_type") == "summary"]
        self.assertIn("max_iterations", [summary.get("status") for summary in summaries])

    def test_a_job_is_followed_and_goes_on_after_a_resume(self):
        self.check_a_job_that_is_followed_over_a_resume()

    def test_what_is_no_run_folder_is_said(self):
        self.check_what_is_no_run_folder()


if __name__ == "__main__":
    job.main()
