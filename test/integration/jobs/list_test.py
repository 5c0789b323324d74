"""scavenger-ctl list: running jobs, ended ones, and what kill -9 leaves."""

import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

ENDLESS = (job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "stop.target=null", "--set", "stop.max_epochs=100000", "--workers", 2)


class ListTest(job.JobTest):
    def environment(self):
        return {**super().environment(), "XDG_STATE_HOME": str(self.folder / "state")}

    def list(self, *arguments):
        done = subprocess.run([str(job.programs / "scavenger-ctl"), "list", *map(str, arguments)], env=self.environment(),
                              cwd=self.folder, capture_output=True, text=True, timeout=180)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def jobs(self, *arguments):
        return {pathlib.Path(one["run_folder"]).name: one for one in json.loads(self.list("--json", *arguments))}

    def entries(self):
        return list((self.folder / "state" / "scavenger" / "jobs").iterdir())

    def test_running_jobs_are_found_wherever_they_were_started(self):
        self.assertEqual(self.list(), "no jobs\n")
        processes = [self.start(*ENDLESS, "--run", self.run_folder(f"place-{i}/run-{i}"), "--set", "cluster.price_per_worker_hour=3600",
                                "--batch-size", 64) for i in range(2)]
        for i in range(2):
            self.wait_for_event(self.run_folder(f"place-{i}/run-{i}"), "evaluation", timeout=120)
        found = self.jobs()
        self.assertEqual(sorted(found), ["run-0", "run-1"])
        one = found["run-1"]
        self.assertEqual((one["name"], one["workers"], one["batch_size"], one["pid"]), ("synthetic_mlp", 2, 64, processes[1].pid))
        self.assertIn(one["state"], ("training", "evaluating", "checkpointing"))
        self.assertEqual((one["evaluation"]["metric"], one["evaluation"]["split"]), ("accuracy", "test"))
        self.assertGreater(one["cost_dollars"], 0)
        self.assertRegex(one["started_utc"], r"^\d{4}-\d\d-\d\dT")
        table = self.list().splitlines()
        self.assertEqual(table[0].split(), ["STATE", "NAME", "K", "B", "METRIC", "COST", "SINCE", "(UTC)", "RUN"])
        self.assertEqual(len(table), 3)
        for process in processes:
            process.send_signal(signal.SIGINT)
        for process in processes:
            process.wait(timeout=120)
        self.assertEqual(self.jobs(), {})
        self.assertEqual(self.entries(), [])

    def test_a_job_that_was_killed_is_not_said_to_run(self):
        run = self.folder / "runs" / "killed"
        process = self.start(*ENDLESS, "--run", run)
        self.wait_for_event(run, "evaluation", timeout=120)
        self.assertIn("killed", self.jobs())
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        self.assertEqual(len(self.entries()), 1)  # it could not take it away
        self.assertEqual(self.jobs(), {})
        self.assertEqual(self.entries(), [])
        killed = self.jobs("--all")["killed"]
        self.assertEqual((killed["state"], killed["pid"]), ("killed", None))
        self.assertEqual((killed["workers"], killed["evaluation"]["metric"]), (2, "accuracy"))

    def test_ended_jobs_of_a_folder_are_shown_where_asked_for(self):
        for name in ("a", "b"):
            self.train(*ENDLESS[:2], "--run", self.folder / "runs" / name, "--set", 'stop={"max_iterations": 30}')
        self.assertEqual(self.jobs(), {})
        found = self.jobs("--all")
        self.assertEqual({name: one["state"] for name, one in found.items()}, {"a": "max_iterations", "b": "max_iterations"})
        self.assertEqual(self.jobs("--all", self.folder / "runs"), found)
        self.assertIn("max iterations", self.list("--all"))


if __name__ == "__main__":
    job.main()
