"""All-reduce (Gloo here, as NCCL among GPUs): workers die inside an all-reduce and in the middle of a resize.

Nobody waits for them, all that are left go on from the same iteration, and no sample is lost or used twice.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

CONFIG = [job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "stop.target=null", "--set", "batch_size=48",
          "--set", "optimizer.learning_rate=0.02", "--set", "sync.strategy=gloo"]
ENDLESS = [*CONFIG, "--set", "stop.max_epochs=100000", "--set", "evaluation.every_epochs=100000"]
SOON = 60  # seconds, on a machine that is busy


def processor_ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def wait_until_it_waits(pid):
    """A worker computes all the time, unless it waits for others."""
    deadline, before = time.monotonic() + SOON, processor_ticks(pid)
    while time.monotonic() < deadline:
        time.sleep(0.3)
        now = processor_ticks(pid)
        if now == before:
            return
        before = now
    raise AssertionError(f"process {pid} does not wait for anybody")


class AllReduceLossTest(job.JobTest):
    def pids(self, run):
        """By index, of the workers that have been started last."""
        return {event["index"]: event["pid"] for event in job.events(run, "process_started") if event["role"] == "worker"}

    def ctl(self, run, *arguments):
        done = subprocess.run([str(job.programs / "scavenger-ctl"), str(run), *map(str, arguments)], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SOON,
                              env=self.environment())
        self.assertEqual(done.returncode, 0, done.stdout)

    def wait_for_worker(self, run, index):
        deadline = time.monotonic() + SOON
        while index not in self.pids(run):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def stop(self, run, process):
        self.ctl(run, "stop")
        output, _ = process.communicate(timeout=SOON)
        self.assertEqual(process.returncode, 130, output)

    def assert_iterations_follow_each_other(self, run):
        done = 0
        for event in job.trained(run):
            self.assertEqual(event["first"], done)
            done += event["count"]
        self.assertEqual(done, job.events(run, "end")[-1]["iteration"])

    def killed_inside_an_all_reduce(self, stopped, killed):
        """One worker stands still, so that the other waits in a sum; that one is killed there."""
        settings = [*CONFIG, "--set", "stop.max_epochs=4", "--workers", 3]
        self.train(*settings, "--run", self.run_folder("whole"))
        run = self.run_folder()
        process = self.start(*settings, "--run", run)
        self.wait_for_event(run, "iterations", 2)
        pids = self.pids(run)
        os.kill(pids[stopped], signal.SIGSTOP)
        wait_until_it_waits(pids[killed])
        os.kill(pids[killed], signal.SIGKILL)
        os.kill(pids[stopped], signal.SIGCONT)
        output, _ = process.communicate(timeout=240)

        self.assertEqual(process.returncode, 0, output)
        lost = [event for event in job.events(run, "recovery") if event["lost"]]
        self.assertEqual([event["lost"] for event in lost], [[f"worker {killed}"]])
        self.assertEqual(lost[0]["iterations_lost"], 0)
        self.assert_iterations_follow_each_other(run)
        # The sum of two shares instead of three differs by rounding.
        self.assertLess(job.largest_difference(job.last_weights(run), job.last_weights(self.run_folder("whole"))), 1e-4)

    def test_the_worker_at_which_all_meet_is_killed_inside_an_all_reduce(self):
        self.killed_inside_an_all_reduce(stopped=1, killed=0)

    def test_another_worker_is_killed_inside_an_all_reduce(self):
        self.killed_inside_an_all_reduce(stopped=0, killed=2)

    def test_it_grows_and_shrinks_while_workers_are_killed(self):
        run = self.run_folder()
        process = self.start(*ENDLESS, "--workers", 1, "--run", run)
        self.wait_for_event(run, "iterations")
        # To 2: the newcomer dies before it has joined. To 4: one of the two that have the state. To 3: one that may be leaving.
        for workers, victim in ((2, 1), (4, 0), (3, 3), (1, None)):
            memberships = len(job.events(run, "membership"))
            self.ctl(run, "resize", "--workers", workers)
            if victim is not None:
                self.wait_for_worker(run, victim)
                os.kill(self.pids(run)[victim], signal.SIGKILL)
            deadline = time.monotonic() + SOON
            while time.monotonic() < deadline:
                found = job.events(run, "membership")
                if len(found) > memberships and found[-1]["workers"] == workers:
                    break
                time.sleep(0.02)
            else:
                self.fail(f"there were never {workers} workers")
            self.wait_for_event(run, "iterations", len(job.trained(run)) + 2)
        self.stop(run, process)

        self.assert_iterations_follow_each_other(run)
        self.assertEqual({event["iterations_lost"] for event in job.events(run, "recovery")}, {0})


if __name__ == "__main__":
    job.main()
