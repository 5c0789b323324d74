"""The life of a job beside its training: how it begins or does not, pauses, ends, and is resumed when it has ended."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

SYNTHETIC = job.CONFIGS / "synthetic_mlp.json"
ENDLESS = [SYNTHETIC, "--set", "stop.target=null", "--set", "stop.max_epochs=1000000"]
NO_TIMELY_CHECKPOINT = ["--set", "checkpoint.every_epochs=1000000"]


def ctl(run, *words):
    done = subprocess.run([str(job.programs / "scavenger-ctl"), str(run), *words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180)
    return done.returncode, done.stdout


class SignalTest(job.JobTest):
    def end_by(self, *signals):
        run = self.run_folder(f"run_{'_'.join(str(int(one)) for one in signals)}")
        process = self.start(*ENDLESS, *NO_TIMELY_CHECKPOINT, "--run", run)
        self.wait_for_event(run, "iterations")
        for one in signals:
            process.send_signal(one)
        output, _ = process.communicate(timeout=180)
        end = job.events(run, "end")[-1]
        self.assertEqual((process.returncode, end["status"]), (130, "interrupted"), output)
        self.assertEqual(job.checkpoints(run)[-1].name, f"iteration_{end['iteration']:09d}")
        self.assertFalse((run / "control.sock").exists())
        return run, output

    def test_each_signal_that_would_end_the_job_writes_a_checkpoint_first(self):
        for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGXCPU):
            with self.subTest(signal=one.name):
                self.end_by(one)

    def test_a_closed_terminal_may_say_so_twice(self):
        self.end_by(signal.SIGHUP, signal.SIGHUP)

    def test_nohup_keeps_the_job_from_the_closing_of_its_terminal(self):
        run = self.run_folder()
        process = subprocess.Popen(["nohup", *self.command(*ENDLESS, "--run", run)], env=self.environment(),
                                   cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (process.kill(), process.wait()))
        self.wait_for_event(run, "iterations")
        process.send_signal(signal.SIGHUP)
        self.wait_for_event(run, "iterations", count=len(job.trained(run)) + 3)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=180), 130)

    def test_a_reader_that_goes_away_ends_no_job(self):
        run = self.run_folder()
        process = self.start(SYNTHETIC, "--run", run, "--set", "stop.target=null")
        process.stdout.close()
        process.stdout = None
        self.assertEqual(process.wait(timeout=120), 0)

    def test_ctrl_c_is_no_problem(self):
        run, output = self.end_by(signal.SIGINT)
        self.assertEqual(job.events(run, "warning"), [])
        self.assertNotIn("problems", output)
        self.assertIn("interrupted: finishing the iteration", output)


class PauseTest(job.JobTest):
    def paused_job(self, *arguments):
        run = self.run_folder()
        process = self.start(*ENDLESS, "--run", run, *arguments)
        self.wait_for_event(run, "iterations")
        self.assertEqual(ctl(run, "pause")[0], 0)
        self.wait_for_event(run, "pause")
        return run, process

    def wait_until_it_is_paused(self, run):
        """A checkpoint that it was writing when the pause came is finished first, and its state says so."""
        deadline = time.monotonic() + 180
        while ": paused;" not in (said := ctl(run, "status")[1]):
            self.assertIn(": checkpointing;", said)
            self.assertLess(time.monotonic(), deadline, said)
            time.sleep(0.05)

    def test_a_paused_job_says_so_everywhere_and_goes_on(self):
        run, process = self.paused_job("--set", "cluster.price_per_worker_hour=100")
        first = self.wait_for_event(run, "pause")[0]
        self.assertTrue(first["paused"])
        self.wait_until_it_is_paused(run)
        self.assertIn("paused  K 2", ctl(run, "top")[1])
        self.assertEqual(job.report(run)["status"], "paused")

        # The log's time and cost go on while nothing happens.
        self.wait_for_event(run, "pause", count=3)
        subprocess.run([str(job.programs / "scavenger-report"), str(run)], check=True, stdout=subprocess.DEVNULL)
        page = (run / "report.html").read_text()
        data = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.S).group(1))
        totals = (data[0] if isinstance(data, list) else data.get("runs", [data])[0])["totals"]
        self.assertEqual(totals["status"], "paused")
        self.assertIsNone(totals["pace"])

        self.assertEqual(ctl(run, "continue")[0], 0)
        pauses = self.wait_for_event(run, "pause", count=4)
        self.assertEqual([one["paused"] for one in pauses[:3]], [True] * 3)
        self.wait_for_event(run, "iterations", count=len(job.trained(run)) + 2)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=180)
        self.assertIn("paused after iteration", output)
        self.assertIn("goes on from iteration", output)
        report = job.report(run)
        self.assertGreater(report["totals"]["cost"], 2 * 100 / 3600 * (pauses[2]["time"] - pauses[0]["time"]))

    def test_a_paused_job_ends_before_it_costs_more_than_it_may(self):
        # Two workers cost 1/18 of a dollar a second, a pause of half a minute more than the limit.
        run, process = self.paused_job("--set", "cluster.price_per_worker_hour=100", "--max-cost", 1.5)

        output, _ = process.communicate(timeout=120)

        self.assertEqual(process.returncode, 0, output)
        report = job.report(run)
        self.assertEqual(report["status"], "max_cost")
        self.assertLessEqual(report["totals"]["cost"], 1.5)
        self.assertGreater(report["totals"]["cost"], 0.75)


class FinishedTest(job.JobTest):
    def contents(self, run):
        return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in run.rglob("*")}

    def test_a_finished_job_says_so_and_is_left_as_it_is(self):
        for name, limit, more in (("target", [], "stop.target.value=0.999"),
                                  ("epochs", ["--set", "stop.target=null", "--set", "stop.max_epochs=1"],
                                   "stop.max_epochs=2")):
            run = self.run_folder(name)
            self.train(SYNTHETIC, "--run", run, *limit)
            before = self.contents(run)

            output = self.train("--resume", run, "--workers", 3)

            self.assertIn("this job is finished", output)
            self.assertIn(f"weights   {job.checkpoints(run)[-1]}", output)
            self.assertEqual(self.contents(run), before)
            self.train("--resume", run, "--quiet", "--set", more, "--set", "stop.max_iterations=600")
            self.assertEqual(len(job.events(run, "start")), 2)

    def test_a_job_at_its_limit_says_how_to_train_on(self):
        output = self.train(SYNTHETIC, "--run", self.run_folder(), "--set", "stop.target=null", "--set",
                            "stop.max_epochs=1")
        self.assertNotIn("go on  ", output)
        self.assertIn("--set stop.max_epochs=...", output)

    def test_a_finished_job_whose_last_weights_are_gone_goes_on(self):
        run = self.run_folder()
        self.train(SYNTHETIC, "--run", run, "--quiet", "--set", "stop.target=null", "--set", "stop.max_epochs=2")
        subprocess.run(["rm", "-r", job.checkpoints(run)[-1]], check=True)
        self.assertNotIn("finished", self.train("--resume", run))
        self.assertEqual(job.report(run)["iterations"] if "iterations" in job.report(run)
                         else job.report(run)["totals"]["iterations"], 128)


class StartTest(job.JobTest):
    def test_a_start_that_fails_leaves_no_run_folder(self):
        (self.folder / "broken.pt").write_text("no model")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            for wrong in (["--serve", taken.getsockname()[1]],
                          ["--set", 'model={"type":"torchscript","file":"broken.pt"}']):
                self.train(SYNTHETIC, *wrong, "--run", self.run_folder(), check=None)
                self.assertFalse(self.run_folder().exists(), wrong)
        self.train(SYNTHETIC, "--run", self.run_folder(), "--quiet")

    def test_jobs_that_start_at_once_take_folders_of_their_own(self):
        jobs = [self.start(SYNTHETIC, "--quiet", "--set", "stop.max_iterations=3") for _ in range(6)]
        for process in jobs:
            output, _ = process.communicate(timeout=240)
            self.assertEqual(process.returncode, 0, output)
        self.assertEqual(len(list((self.folder / "runs").iterdir())), 6)

    def test_more_workers_than_cores_are_told_once(self):
        workers = len(os.sched_getaffinity(0)) + 1
        arguments = [SYNTHETIC, "--set", "stop.max_iterations=3"]
        output = self.train(*arguments, "--workers", workers, "--run", self.run_folder("crowd"))
        self.assertEqual(output.count(f"{workers} workers on "), 1, output)
        self.assertNotIn("take turns", self.train(*arguments, "--workers", 1, "--run", self.run_folder("alone")))

    def test_a_cost_limit_without_a_price_is_told(self):
        arguments = [SYNTHETIC, "--set", "stop.max_iterations=3", "--max-cost", 1]
        self.assertIn("cluster.price_per_worker_hour", self.train(*arguments, "--run", self.run_folder("free")))
        paid = self.train(*arguments, "--set", "cluster.price_per_worker_hour=1", "--run", self.run_folder("paid"))
        self.assertNotIn("has no price", paid)

    def test_options_are_named_as_they_were_given(self):
        output = self.train(SYNTHETIC, "--batch-size", 64, "--workers", 65, check=2)
        self.assertNotIn("--set cluster.workers", output)
        self.assertRegex(output, r"--(workers 65|batch-size 64)")

    def test_what_is_no_file_is_refused_at_once(self):
        os.mkfifo(self.folder / "pipe.json")
        for path in ("/dev/zero", self.folder / "pipe.json"):
            self.assertIn("not a regular file", self.train(path, check=2, timeout=180))


class ListenerTest(job.JobTest):
    def test_idle_connections_lock_nobody_out(self):
        run = self.run_folder()
        process = self.start(*ENDLESS, "--run", run)
        self.wait_for_event(run, "iterations")
        idle = []
        for _ in range(40):
            idle.append(socket.socket(socket.AF_UNIX))
            idle[-1].connect(str(run / "control.sock"))
        for _ in range(5):
            code, text = ctl(run, "status")
            self.assertEqual(code, 0, text)
        for one in idle:
            one.close()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=180), 130)


if __name__ == "__main__":
    job.main()
