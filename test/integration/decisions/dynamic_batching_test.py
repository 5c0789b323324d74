"""Unequal workers: the shares of the batch follow what each can do, through throttling, losses and resizes, and lose no sample."""

import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

sys.path.insert(0, str(job.SOURCE / "test" / "support"))
import cpu_quota  # noqa: E402

CONFIG = [job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "stop.target=null", "--set", "evaluation.every_epochs=100000",
          "--set", "checkpoint.every_epochs=100000", "--set", "cluster.threads_per_worker=1"]
# A model whose iterations take some milliseconds, so that the workers' own time decides.
SLOW = [*CONFIG, "--set", "model.hidden=[512,512]", "--batch-size", 384]
ENDLESS = ["--set", "stop.max_epochs=100000"]
DYNAMIC = ["--set", "batching.dynamic=true"]


def worker_pids(run):
    """By index, of those that joined last."""
    return {event["index"]: event["pid"] for event in job.events(run, "process_joined") if event["role"] == "worker"}


def shares(run):
    return [event["shares"] for event in job.events(run, "membership")]


class DynamicBatchingTest(job.JobTest):
    def throttle(self, pid, cores):
        quota = cpu_quota.CpuQuota(pid, cores)
        self.addCleanup(quota.close)
        return quota

    def wait_for_shares(self, what, run, process, condition, timeout=240):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and process.poll() is None:
            if condition(shares(run)):
                return
            time.sleep(0.05)
        trained = [(event["time"], event["first"] + event["count"]) for event in job.trained(run)]
        self.fail(f"not within {timeout} s: {what}. Exit code {process.poll()}, memberships {job.events(run, 'membership')}, "
                  f"lost {job.events(run, 'process_lost')}, the last iterations {trained[-5:]}")

    def stop(self, run, process):
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 130, output)

    def assert_no_sample_is_lost(self, run):
        position, iteration, batch_size = 0, 0, job.events(run, "membership")[0]["batch_size"]
        for membership in job.events(run, "membership"):
            position += (membership["first_iteration"] - iteration) * batch_size
            self.assertEqual(membership["position"], position)
            self.assertEqual(sum(membership["shares"]), membership["batch_size"])
            iteration, batch_size = membership["first_iteration"], membership["batch_size"]
        done = 0
        for event in job.trained(run):
            self.assertEqual(event["first"], done)
            done += event["count"]
        self.assertEqual(done, job.events(run, "end")[-1]["iteration"])

    def assert_replay_decides_the_same(self, run):
        replay = job.programs.parent / "test" / "batching_replay"
        done = subprocess.run([str(replay), str(run)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180)
        self.assertEqual(done.returncode, 0, done.stdout)

    def assert_begins_with_what_is_known(self, new, known):
        """Worker 1's part of the batch is nearer to what it had than to an even one.

        How slow worker 1 is beside the others depends on what else this machine does, so no number is demanded: on a
        machine that starves the others it may have more than they. A job that forgets it begins with even shares.
        """
        known_part, part, even = known[1] / sum(known[:len(new)]), new[1] / sum(new), 1 / len(new)
        self.assertLess(abs(part - known_part), abs(part - even) + 0.02, f"{new} after {known}")

    def shares_follow_a_throttled_worker(self, *settings):
        if not cpu_quota.can_limit():
            self.skipTest("needs root and the cpu controller of cgroup version 1")
        run = self.run_folder()
        process = self.start(*SLOW, *ENDLESS, *DYNAMIC, "--workers", 3, "--run", run, *settings)
        self.wait_for_event(run, "iterations")
        pids = worker_pids(run)
        quotas = [self.throttle(pids[index], cores) for index, cores in enumerate((0.3, 0.06, 0.3))]
        self.wait_for_shares("worker 1 gets less", run, process, lambda had: had[-1][1] < 64)
        quotas[1].set(0.3)
        self.wait_for_shares("worker 1 gets more again", run, process, lambda had: had[-1][1] > 90)
        self.stop(run, process)
        self.assert_no_sample_is_lost(run)
        self.assert_replay_decides_the_same(run)
        self.assertEqual(job.events(run, "process_lost"), [])
        print("shares:", shares(run), "pauses:", *(f"{1e3 * event['seconds']:.0f} ms" for event in job.events(run, "recovery")))

    def test_shares_follow_a_throttled_worker_in_shared_memory(self):
        self.shares_follow_a_throttled_worker()

    def test_shares_follow_a_throttled_worker_over_tcp(self):
        self.shares_follow_a_throttled_worker("--set", "ps.shards=2")

    def test_shares_follow_a_throttled_worker_with_all_reduce(self):
        self.shares_follow_a_throttled_worker("--set", "sync.strategy=gloo")

    def test_shares_follow_a_throttled_worker_with_integral_and_derivative_parts(self):
        self.shares_follow_a_throttled_worker("--set", "batching.integral_gain=0.05", "--set", "batching.derivative_gain=0.25")

    def test_unequal_shares_survive_losses_and_resizes(self):
        if not cpu_quota.can_limit():
            self.skipTest("needs root and the cpu controller of cgroup version 1")
        run = self.run_folder()
        process = self.start(*SLOW, *ENDLESS, *DYNAMIC, "--workers", 3, "--run", run)
        self.wait_for_event(run, "iterations")
        pids = worker_pids(run)
        # The others stay fast: while it waits for slow ones its quota comes back, and it seems to be as fast as they are.
        self.throttle(pids[1], 0.05)
        self.wait_for_shares("worker 1 gets less", run, process, lambda had: had[-1][1] < 64)

        os.kill(pids[2], signal.SIGKILL)
        self.wait_for_shares("the others go on", run, process, lambda had: any(len(each) == 2 for each in had))
        alone = next(index for index, each in enumerate(shares(run)) if len(each) == 2)
        self.assert_begins_with_what_is_known(shares(run)[alone], shares(run)[alone - 1])
        self.wait_for_shares("the lost one is replaced", run, process, lambda had: len(had[-1]) == 3)
        before = len(shares(run))
        subprocess.run([str(job.programs / "scavenger-ctl"), str(run), "resize", "--batch-size", "768", "--wait"],
                       check=True, timeout=240, stdout=subprocess.DEVNULL)
        resized = next(index for index, each in enumerate(shares(run)) if index >= before and sum(each) == 768)
        self.assert_begins_with_what_is_known(shares(run)[resized], shares(run)[resized - 1])
        self.stop(run, process)
        self.assert_no_sample_is_lost(run)

        # Resumed, it begins with what it knew.
        known = len(shares(run))
        self.train("--resume", run, "--quiet", "--set", "stop.max_epochs=null", "--set", "stop.max_seconds=1000",
                   "--set", f"stop.max_iterations={job.events(run, 'end')[-1]['iteration'] + 20}")
        self.assert_begins_with_what_is_known(shares(run)[known], shares(run)[known - 1])
        self.assert_replay_decides_the_same(run)

    def unequal_shares_learn_what_even_ones_learn(self, *settings):
        """The same samples and weights, up to the order of sums."""
        if not cpu_quota.can_limit():
            self.skipTest("needs root and the cpu controller of cgroup version 1")
        job_settings = [*SLOW, "--workers", 3, "--set", "optimizer.learning_rate=0.01", *settings]
        even, uneven = self.run_folder("even"), self.run_folder("uneven")
        process = self.start(*job_settings, *ENDLESS, *DYNAMIC, "--run", uneven)
        self.wait_for_event(uneven, "iterations")
        # Where other programs leave the two others a fifth of a core each, this is still half of that.
        self.throttle(worker_pids(uneven)[1], 0.1)
        self.wait_for_shares("worker 1 gets less", uneven, process, lambda had: had[-1][1] < 96)
        self.wait_for_event(uneven, "iterations", len(job.trained(uneven)) + 3)
        self.stop(uneven, process)
        iterations = job.events(uneven, "end")[-1]["iteration"]
        self.train(*job_settings, *ENDLESS, "--set", f"stop.max_iterations={iterations}", "--run", even)

        curves = [[loss for event in job.events(run, "iterations") for loss in event["loss"]] for run in (even, uneven)]
        self.assertEqual(len(curves[0]), len(curves[1]))
        for iteration, (a, b) in enumerate(zip(*curves)):
            self.assertAlmostEqual(a, b, delta=2e-4, msg=f"iteration {iteration} of {iterations}")

    def test_unequal_shares_learn_what_even_ones_learn_in_shared_memory(self):
        self.unequal_shares_learn_what_even_ones_learn()

    def test_unequal_shares_learn_what_even_ones_learn_over_tcp_in_micro_batches(self):
        self.unequal_shares_learn_what_even_ones_learn("--set", "ps.shards=2", "--set", "compute.micro_batch=50")

    def test_unequal_shares_learn_what_even_ones_learn_with_all_reduce(self):
        self.unequal_shares_learn_what_even_ones_learn("--set", "sync.strategy=gloo")


if __name__ == "__main__":
    job.main()
