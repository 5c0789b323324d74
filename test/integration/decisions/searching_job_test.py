"""A job finds its number of workers and its batch size while it trains. That every decision can be made again from the
log is checked after each test (job.py)."""

import json
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

CONFIG = [job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "stop.target=null", "--set", "evaluation.every_epochs=100000",
          "--set", "search.cold_start_iterations=200", "--set", "search.workers=[1,2,3]", "--set", "search.batch_sizes=[32,64,128]",
          "--workers", 1, "--batch-size", 32, "--set", "cluster.price_per_worker_hour=0.1"]
ENDLESS = [*CONFIG, "--set", "stop.max_epochs=1000000"]


class SearchTest(job.JobTest):
    def program(self, name, *arguments, check=0):
        done = subprocess.run([str(job.programs / name), *map(str, arguments)], text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180, env=self.environment())
        if check is not None:
            self.assertEqual(done.returncode, check, done.stdout)
        return done.stdout

    def steps(self, run, phase):
        return [step for step in job.events(run, "search_step") if step["phase"] == phase]

    def wait_for_phase(self, run, phase):
        for count in range(1, 100):
            self.wait_for_event(run, "search_step", count, timeout=120)
            if self.steps(run, phase):
                return self.steps(run, phase)[-1]

    def stop(self, run, process):
        self.program("scavenger-ctl", run, "stop")
        output, _ = process.communicate(timeout=180)
        self.assertEqual(process.returncode, 130, output)
        return output

    def assert_arrives(self, run, step):
        last = job.events(run, "membership")[-1]
        self.assertEqual((last["workers"], last["batch_size"]), (step["workers"], step["batch_size"]))

    def test_a_job_that_is_left_a_choice_looks_around_and_starts_no_process_on_the_way_back(self):
        run = self.run_folder()
        # No mode is named. Three workers wait for each other on two cores, so one is worth a look.
        words = [*CONFIG[:6], "--set", "stop.max_epochs=1000000", "--set", "search.workers=[1,3]", "--set", "search.budget=0.2",
                 "--set", "search.policy=min-cost", "--workers", 3, "--batch-size", 32, "--run", run]
        process = self.start(*words)
        looked = self.wait_for_phase(run, "profiling")
        settled = self.wait_for_phase(run, "settled")
        before = len(job.trained(run))
        self.wait_for_event(run, "iterations", before + 5)
        self.stop(run, process)

        self.assertEqual((looked["workers"], looked["batch_size"]), (1, 32))
        self.assertEqual(settled["batch_size"], 32)
        started = [event["time"] for event in job.events(run, "process_started")]
        self.assertFalse([time for time in started if looked["time"] <= time <= settled["time"] + 0.5])
        search = job.report(run)["search"]
        self.assertGreaterEqual(search["looks"], 1)
        self.assertGreaterEqual(search["spent_seconds"], 0)
        self.assertIn("looking elsewhere", search["sentence"])

    def test_partial_search_measures_the_corners_and_settles(self):
        run = self.run_folder()
        process = self.start(*ENDLESS, "--search", "partial", "--policy", "min-time", "--run", run)
        settled = self.wait_for_phase(run, "settled")
        before = len(job.trained(run))
        self.wait_for_event(run, "iterations", before + 5)
        self.stop(run, process)

        measured = [(step["workers"], step["batch_size"]) for step in self.steps(run, "profiling")]
        # A corner comes once more if the last iterations there have made its mean uncertain again, as on a busy machine.
        self.assertEqual(list(dict.fromkeys(measured))[:3], [(1, 128), (3, 32), (3, 128)])
        prediction = job.events(run, "prediction")[-1]
        self.assertEqual(len(prediction["candidates"]), 9)
        self.assertGreaterEqual(sum(one["measured"] for one in prediction["candidates"]), 4)
        self.assert_arrives(run, settled)
        self.assertEqual(job.report(run)["prediction"]["workers"], prediction["workers"])

    def test_a_job_killed_while_it_searches_goes_on_with_what_it_knows(self):
        run = self.run_folder()
        process = self.start(*ENDLESS, "--search", "full", "--run", run, "--set", "checkpoint.every_seconds=0.5")
        self.wait_for_event(run, "search_step", 4, timeout=120)
        self.wait_for_event(run, "checkpoint")
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = [(step["workers"], step["batch_size"]) for step in self.steps(run, "profiling")]

        process = self.start("--resume", run, "--quiet")
        self.wait_for_phase(run, "settled")
        self.stop(run, process)
        measured = [(step["workers"], step["batch_size"]) for step in self.steps(run, "profiling")]
        self.assertEqual(measured[:len(before)], before)
        # The last one before the kill may have to be measured again, by going on with it.
        self.assertEqual(len(measured), len(set(measured)), "nothing is asked for twice")

    def test_who_resizes_by_hand_decides(self):
        run = self.run_folder()
        process = self.start(*ENDLESS, "--search", "partial", "--run", run)
        self.wait_for_event(run, "search_step")
        self.program("scavenger-ctl", run, "resize", "--workers", 2, "--batch-size", 64, "--wait")
        before = len(job.trained(run))
        self.wait_for_event(run, "iterations", before + 10)
        self.stop(run, process)
        self.assertEqual(job.events(run, "search_step")[-1]["phase"], "ended")
        self.assert_arrives(run, {"workers": 2, "batch_size": 64})

    def test_a_second_job_chooses_from_what_the_first_has_measured(self):
        store = ["--set", f"model_store.path={self.folder / 'models.db'}"]
        first = self.run_folder("first")
        process = self.start(*ENDLESS, *store, "--search", "partial", "--run", first)
        self.wait_for_phase(first, "settled")
        said = self.stop(first, process)

        second = self.run_folder("second")
        process = self.start(*ENDLESS, *store, "--search", "none", "--run", second)
        settled = self.wait_for_phase(second, "settled")
        said += self.stop(second, process)
        self.assertEqual(self.steps(second, "profiling"), [], (said, job.events(second, "search_step")[0]))
        self.assertIn("similarity 1.00", settled["reason"] + json.dumps(job.events(second, "prediction")))

    def test_a_changed_log_does_not_replay(self):
        run = self.run_folder("changed")
        process = self.start(*ENDLESS, "--search", "partial", "--run", run)
        self.wait_for_phase(run, "settled")
        self.stop(run, process)
        path = run / "events.jsonl"
        changed = path.read_text().replace('"phase":"profiling","workers":3', '"phase":"profiling","workers":2')
        self.assertNotEqual(changed, path.read_text())
        path.write_text(changed)
        self.assertIn("the log has", self.program("scavenger-plan", "replay", run, check=1))

    def test_too_little_to_choose_from_is_refused_at_once(self):
        run = self.run_folder()
        output = self.train(*CONFIG, "--set", "stop.max_epochs=1", "--search", "partial", "--set", "search.workers=[2]",
                            "--run", run, check=2)
        self.assertIn("search.workers", output)
        self.assertFalse(run.exists())
        output = self.train(*CONFIG, "--set", "stop.max_epochs=1", "--search", "clever", "--run", run, check=2)
        self.assertIn("search.mode", output)


if __name__ == "__main__":
    job.main()
