"""Unequal machines of an emulated cluster: workers' times come together and stay so, and what is learned and measured is what even shares learn."""

import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

sys.path.insert(0, str(job.SOURCE / "test" / "support"))
import cpu_quota  # noqa: E402
import namespaces  # noqa: E402
import unequal_cluster  # noqa: E402

ENDLESS = ["stop.target=null", "stop.max_epochs=100000", "evaluation.every_epochs=100000"]
# Iterations that are long beside the kernel's clock tick, in which a quota is overdrawn.
LONG = [*ENDLESS, "model.hidden=[512,512]", "batch_size=4096", "optimizer.learning_rate=0.01"]
TOTAL_CORES = 1.2
MOST_ADJUSTMENTS = 10
NEAR = 1.10  # longest / shortest
STEADY = 1.05  # the same: less is no reason to adjust
FEWEST = 15  # iterations, before a mean says something
ENOUGH = 2000  # iterations, in which the times come together however much the machine's neighbours make them scatter


class UnequalMachinesTest(job.JobTest):
    def setUp(self):
        super().setUp()
        if not cpu_quota.can_limit():
            self.skipTest("needs root and the cpu controller of cgroup version 1")
        if missing := namespaces.missing():
            self.skipTest(missing)

    def start_on(self, cores, *settings):
        """The job, once it trains."""
        started = unequal_cluster.UnequalJob(job.programs.parent, "synthetic_mlp", cores, [*LONG, *settings])
        self.addCleanup(started.close)
        deadline = time.monotonic() + 300  # a worker loads its libraries with a tenth of a processor
        while not started.events("iterations"):
            if started.process.poll() is not None:
                self.fail(started.process.communicate()[0])
            self.assertLess(time.monotonic(), deadline, "no iteration")
            time.sleep(0.1)
        return started

    def times_come_together(self, level, *settings):
        running = self.start_on(unequal_cluster.cores_of(level, TOTAL_CORES), "batching.dynamic=true", *settings)
        # The controller's evidence counts in iterations: how many come in a second is the machine's affair.
        deadline, seen = time.monotonic() + 600, []
        while unequal_cluster.iterations(running) < ENOUGH and time.monotonic() < deadline:
            seconds, times = unequal_cluster.last_window(running)
            self.assertLessEqual(len(unequal_cluster.adjustments(running)), MOST_ADJUSTMENTS)
            if len(seconds) >= FEWEST:
                seen.append(round(unequal_cluster.spread(times), 3))
                if seen[-1] <= NEAR:
                    last = running.events("membership")[-1]
                    print(f"level {level}: {seen[-1]:.2f} after {len(unequal_cluster.adjustments(running))} adjustments, at iteration "
                          f"{last['first_iteration'] + len(seconds)}, shares {last['shares']}")
                    return running
            time.sleep(0.5)
        self.fail(f"level {level}: longest / shortest {seen[-5:]} after {unequal_cluster.iterations(running)} iterations, workers' "
                  f"seconds {[round(statistics.mean(each), 3) for each in times]}; memberships "
                  f"{[(event['first_iteration'], event['shares'], event['reason']) for event in running.events('membership')]}")

    def assert_replay_decides_the_same(self, running):
        running.process.terminate()
        running.wait(60)
        replay = job.programs.parent / "test" / "batching_replay"
        done = subprocess.run([str(replay), str(running.run)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180)
        self.assertRegex(done.stdout, r"^\d+ proposals, \d+ memberships$")  # and not what differs

    def test_times_of_equal_workers(self):
        self.times_come_together(1)

    def test_times_come_together_at_level_2(self):
        self.times_come_together(2)

    def test_times_come_together_at_level_6(self):
        self.times_come_together(6)

    def test_times_come_together_at_level_10(self):
        running = self.times_come_together(10)
        first = running.events("membership")[0]["shares"]
        self.assertLess(first[0], first[1] / 4, "the first shares follow the machines' cores")
        self.assert_replay_decides_the_same(running)

    def test_nothing_is_adjusted_in_a_steady_cluster(self):
        running = self.start_on([0.4, 0.4, 0.4], "batching.dynamic=true", "batch_size=768", "stop.max_iterations=510")
        running.wait(240)
        self.assertEqual(running.events("end")[-1]["iteration"], 510)
        first, *adjusted = running.events("membership")
        if adjusted:  # other programs may make processors unequal for a while
            spread = unequal_cluster.spread(unequal_cluster.window(running, first)[1])
            self.assertGreater(spread, STEADY, [event["reason"] for event in adjusted])
            print(f"not steady: {spread:.2f}, {len(adjusted)} adjustments")


class UnequalSharesTest(job.JobTest):
    """Shares that bounds make unequal, whatever the machine does: the same in each run."""

    # Later the job has learned all that there is, and its noise scale is unbounded.
    ITERATIONS = 100

    def train_with_bounds(self, name, bounds):
        run = self.run_folder(name)
        hosts = [f'{{"name":"h{k}","address":"127.0.0.1","largest_share":{bound}}}' for k, bound in enumerate(bounds)]
        self.train(job.CONFIGS / "synthetic_mlp.json", "--quiet", "--run", run, "--workers", 3, "--batch-size", 384, "--set", f"cluster.hosts=[{','.join(hosts)}]",
                   "--set", "batching.dynamic=true", "--set", "optimizer.learning_rate=0.02",
                   "--set", "stop.target=null", "--set", "stop.max_epochs=100000", "--set", f"stop.max_iterations={self.ITERATIONS}",
                   "--set", f"evaluation.every_iterations={self.ITERATIONS}", "--set", "checkpoint.every_epochs=100000", "--set", "cluster.threads_per_worker=1")
        return run

    def test_metric_and_noise_scale_are_those_of_even_shares(self):
        even = self.train_with_bounds("even", [128, 128, 128])
        uneven = self.train_with_bounds("uneven", [24, 120, 240])
        self.assertEqual(job.events(even, "membership")[-1]["shares"], [128, 128, 128])
        self.assertEqual(job.events(uneven, "membership")[-1]["shares"], [24, 120, 240])
        accuracy = [job.events(run, "evaluation")[-1]["accuracy"] for run in (even, uneven)]
        self.assertAlmostEqual(accuracy[0], accuracy[1], delta=0.005)
        scales = [job.report(run)["noise"]["present"]["noise_scale"]["value"] for run in (even, uneven)]
        print("accuracy:", accuracy, "noise scale:", scales)
        self.assertAlmostEqual(scales[1] / scales[0], 1, delta=0.1)


if __name__ == "__main__":
    job.main()
