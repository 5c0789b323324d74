"""A process that dies or hangs is noticed and named, the job goes on without it, and nothing is ever left running."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

ENDLESS = [job.CONFIGS / "synthetic_mlp.json", "--set", "stop.target=null", "--set", "stop.max_epochs=100000",
           "--workers", 2, "--set", "limits.heartbeat_seconds=2", "--set", "checkpoint.every_iterations=100"]


class FaultTest(job.JobTest):
    def training_job(self, *more):
        run = self.run_folder()
        process = self.start(*ENDLESS, *more, "--run", run)
        self.wait_for_event(run, "iterations")
        pids = {(event["role"], event["index"]): event["pid"] for event in job.events(run, "process_started")}
        return process, run, pids

    def assert_recovers(self, process, run, name, how):
        recovery = self.wait_for_event(run, "recovery", timeout=180)[0]
        self.assertEqual(recovery["lost"], [name])
        lost = job.events(run, "process_lost")
        self.assertEqual(len(lost), 1)
        self.assertIn(how, lost[0]["how"])
        # What was done since the last checkpoint may be done again first.
        last = max(event["first"] for event in job.trained(run))
        deadline = time.monotonic() + 180
        while job.trained(run)[-1]["first"] <= last:
            self.assertLess(time.monotonic(), deadline, "training does not go on")
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=180)
        self.assertEqual(process.returncode, 130, output)
        return recovery

    def test_a_killed_worker_is_missed_at_once_and_replaced(self):
        process, run, pids = self.training_job()
        os.kill(pids["worker", 1], signal.SIGKILL)
        self.wait_for_event(run, "membership", count=3)
        recovery = self.assert_recovers(process, run, "worker 1", "killed by signal 9")
        self.assertEqual(recovery["iterations_lost"], 0)
        self.assertEqual([event["workers"] for event in job.events(run, "membership")], [2, 1, 2])
        self.assertIn("rank 1 of 2", job.events(run, "process_lost")[0]["log_tail"])

    def test_a_job_that_is_stopped_as_a_whole_goes_on_where_it_was(self):
        process, run, pids = self.training_job()
        everyone = [process.pid, *pids.values()]
        for pid in everyone:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(4)  # twice as long as anyone may be silent
        for pid in everyone:
            os.kill(pid, signal.SIGCONT)
        self.wait_for_event(run, "iterations", count=len(job.trained(run)) + 3)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=180)
        self.assertEqual(process.returncode, 130, output)
        self.assertEqual(job.events(run, "process_lost"), [])

    def test_with_shrink_the_others_go_on_alone(self):
        process, run, pids = self.training_job("--set", "faults.on_worker_loss=shrink")
        os.kill(pids["worker", 0], signal.SIGKILL)
        self.assert_recovers(process, run, "worker 0", "killed by signal 9")
        self.assertEqual([event["workers"] for event in job.events(run, "membership")], [2, 1])

    def test_with_stop_the_job_ends_and_can_be_resumed(self):
        process, run, pids = self.training_job("--set", "faults.on_worker_loss=stop")
        self.wait_for_event(run, "checkpoint")
        os.kill(pids["worker", 1], signal.SIGKILL)
        output, _ = process.communicate(timeout=180)
        self.assertEqual(process.returncode, 1, output)
        self.assertIn("worker 1", output)
        self.assertIn("killed by signal 9", output)
        self.assertEqual(job.report(run)["status"], "failed")
        self.train("--resume", run, "--quiet", "--set", "stop.max_epochs=1")

    def test_a_killed_shard_comes_back_from_the_last_checkpoint_and_the_workers_stay(self):
        process, run, pids = self.training_job("--set", "sync.transport=tcp")
        self.wait_for_event(run, "checkpoint")
        os.kill(pids["shard", 0], signal.SIGKILL)
        self.assert_recovers(process, run, "shard 0", "killed by signal 9")
        started = [(event["role"], event["index"]) for event in job.events(run, "process_started")]
        self.assertEqual(started.count(("shard", 0)), 2)
        self.assertEqual(started.count(("worker", 0)) + started.count(("worker", 1)), 2)
        again = job.events(run, "membership")[1]["first_iteration"]
        self.assertIn(again, [event["iteration"] for event in job.events(run, "checkpoint")])
        self.assertEqual(job.report(run)["recoveries"]["iterations_lost"],
                         job.report(run)["totals"]["iterations_repeated"])

    def test_a_stopped_worker_counts_as_hung(self):
        process, run, pids = self.training_job()
        os.kill(pids["worker", 0], signal.SIGSTOP)
        self.assert_recovers(process, run, "worker 0", "no sign of life")

    def test_a_stopped_shard_counts_as_hung_and_cannot_come_back(self):
        process, run, pids = self.training_job("--set", "sync.transport=tcp")
        self.wait_for_event(run, "checkpoint")
        os.kill(pids["shard", 0], signal.SIGSTOP)
        self.assert_recovers(process, run, "shard 0", "no sign of life")
        self.assertFalse(is_alive(pids["shard", 0]))

    def test_cut_connections_are_made_again_though_nobody_is_lost(self):
        process, run, _ = self.training_job("--set", "sync.transport=tcp")
        port = re.search(r"serving at \S+:(\d+)", (run / "logs" / "shard_0.log").read_text()).group(1)
        if shutil.which("ss") is None or os.geteuid() != 0:
            self.skipTest("cutting the connections of others takes ss (iproute2) and root")
        cut = subprocess.run(["ss", "-H", "-K", "dst", "127.0.0.1", "dport", "=", port], capture_output=True, text=True)
        if port not in cut.stdout:
            self.skipTest("this kernel does not destroy sockets (CONFIG_INET_DIAG_DESTROY): " + cut.stderr)

        recovery = self.wait_for_event(run, "recovery", timeout=180)[0]

        self.assertEqual((recovery["lost"], recovery["iterations_lost"]), ([], 0))
        self.assertEqual(job.events(run, "process_lost"), [])
        self.assertEqual([event["workers"] for event in job.events(run, "membership")], [2, 2])
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=180), 130)

    def test_kill_9_of_the_controller_leaves_no_orphan(self):
        process, run, pids = self.training_job()
        process.send_signal(signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and any(is_alive(pid) for pid in pids.values()):
            time.sleep(0.02)
        self.assertEqual([name for name, pid in pids.items() if is_alive(pid)], [])

    def test_a_worker_stopped_in_its_first_moment_is_no_orphan_either(self):
        run = self.run_folder()
        process = self.start(*ENDLESS, "--run", run)
        worker = self.wait_for_event(run, "process_started", count=3)[-1]["pid"]
        os.kill(worker, signal.SIGSTOP)  # its libraries are being loaded
        process.send_signal(signal.SIGKILL)
        process.wait()  # and nothing may be left, as after each test

    def test_sigterm_ends_the_job_as_ctrl_c_does(self):
        process, run, _ = self.training_job()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=180), 130)
        self.assertEqual(len(job.checkpoints(run)), len(job.events(run, "checkpoint")[-3:]))


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    job.main()
