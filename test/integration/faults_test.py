"""A process that dies or hangs is noticed within seconds and named, and nothing is ever left running."""

import os
import signal
import time

import job

ENDLESS = [job.CONFIGS / "synthetic_mlp.json", "--set", "stop.target=null", "--set", "stop.max_epochs=100000",
           "--workers", 2, "--set", "limits.heartbeat_seconds=2"]


class FaultTest(job.JobTest):
    def training_job(self):
        run = self.run_folder()
        process = self.start(*ENDLESS, "--run", run)
        self.wait_for_event(run, "iterations")
        pids = {(event["role"], event["index"]): event["pid"] for event in job.events(run, "process_started")}
        return process, run, pids

    def assert_named(self, process, run, name, how):
        began = time.monotonic()
        output, _ = process.communicate(timeout=30)
        self.assertLess(time.monotonic() - began, 15)
        self.assertEqual(process.returncode, 1, output)
        self.assertIn(name, output)
        self.assertIn(how, output)
        self.assertEqual(job.report(run)["status"], "failed")
        self.assertEqual(len(job.events(run, "process_lost")), 1)

    def test_a_killed_worker_is_named_with_the_tail_of_its_log(self):
        process, run, pids = self.training_job()
        os.kill(pids["worker", 1], signal.SIGKILL)
        self.assert_named(process, run, "worker 1", "killed by signal 9")
        self.assertIn("rank 1 of 2", job.events(run, "process_lost")[0]["log_tail"])

    def test_a_killed_shard_is_named_though_the_workers_notice_too(self):
        process, run, pids = self.training_job()
        os.kill(pids["shard", 0], signal.SIGKILL)
        self.assert_named(process, run, "shard 0", "killed by signal 9")

    def test_a_stopped_worker_counts_as_hung(self):
        process, run, pids = self.training_job()
        os.kill(pids["worker", 0], signal.SIGSTOP)
        self.assert_named(process, run, "worker 0", "no sign of life")

    def test_kill_9_of_the_controller_leaves_no_orphan(self):
        process, run, pids = self.training_job()
        process.send_signal(signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and any(is_alive(pid) for pid in pids.values()):
            time.sleep(0.02)
        self.assertEqual([name for name, pid in pids.items() if is_alive(pid)], [])

    def test_sigterm_ends_the_job_as_ctrl_c_does(self):
        process, run, _ = self.training_job()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=30), 130)
        self.assertEqual(len(job.checkpoints(run)), len(job.events(run, "checkpoint")[-3:]))


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    job.main()
