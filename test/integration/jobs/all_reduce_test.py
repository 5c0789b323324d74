"""All-reduce with Gloo instead of the parameter server: the same training, the same losses, no scavenger-ps."""

import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

# See kill_test.py for the learning rate.
CONFIG = [job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "stop.target=null", "--set", "batch_size=16",
          "--set", "optimizer.learning_rate=0.02", "--set", "cluster.workers=2"]
GLOO = ["--set", "sync.strategy=gloo"]
LONG = [*CONFIG, *GLOO, "--set", "stop.max_epochs=6"]


class AllReduceTest(job.JobTest):
    def weights(self, name, *arguments):
        self.train(*CONFIG, "--set", "stop.max_iterations=200", *arguments, "--run", self.run_folder(name))
        return job.last_weights(self.run_folder(name))

    def worker_pids(self, run):
        return {event["index"]: event["pid"] for event in job.events(run, "process_started")
                if event["role"] == "worker"}

    def test_it_trains_as_the_parameter_server_does_and_alike_each_time(self):
        expected = self.weights("shared_memory")
        for workers in (1, 2, 3):
            ours = self.weights(f"gloo_{workers}", *GLOO, "--set", f"cluster.workers={workers}")
            self.assertLess(job.largest_difference(ours, expected), 1e-5)
        self.assertEqual(self.weights("again", *GLOO), job.last_weights(self.run_folder("gloo_2")))
        run = self.run_folder("gloo_2")
        self.assertEqual({event["role"] for event in job.events(run, "process_started")}, {"worker"})
        ours, theirs = ([job.events(self.run_folder(name), "iterations")[0]] for name in ("gloo_2", "shared_memory"))
        for side in (ours, theirs):
            side += side[0]["workers"]
        for our, their in zip(ours, theirs):
            for key in [key for key in our if "norm" in key]:
                for a, b in list(zip(our[key], their[key]))[:10]:
                    self.assertAlmostEqual(a, b, delta=1e-3 * b)

    def test_adam_whose_state_has_two_vectors(self):
        adam = ['--set', 'optimizer={"type":"adamw","learning_rate":0.002,"weight_decay":0.01}']
        self.assertLess(job.largest_difference(self.weights("gloo", *GLOO, *adam),
                                               self.weights("shared_memory", *adam)), 1e-5)

    def disturbed(self, what, index, *more):
        self.train(*LONG, *more, "--run", self.run_folder("whole"))
        run = self.run_folder()
        process = self.start(*LONG, *more, "--run", run)
        self.wait_for_event(run, "iterations", 3)
        os.kill(self.worker_pids(run)[index], what)
        output, _ = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 0, output)
        self.assertEqual(job.report(run)["status"], "max_epochs")
        self.assertLess(job.largest_difference(job.last_weights(run), job.last_weights(self.run_folder("whole"))), 1e-4)
        recoveries = [event for event in job.events(run, "recovery") if event["lost"]]
        self.assertIn(f"worker {index}", [name for event in recoveries for name in event["lost"]])
        self.assertEqual({event["iterations_lost"] for event in recoveries}, {0}, "others had the state")

    def test_a_worker_that_is_killed_costs_no_iteration(self):
        self.disturbed(signal.SIGKILL, 0)

    def test_nor_does_one_that_hangs(self):
        self.disturbed(signal.SIGSTOP, 1, "--set", "cluster.workers=3", "--set", "limits.heartbeat_seconds=2")

    def test_the_only_worker_comes_back_with_the_last_checkpoint(self):
        run = self.run_folder()
        process = self.start(*LONG, "--set", "cluster.workers=1", "--set", "checkpoint.every_iterations=50",
                             "--set", "stop.max_epochs=20", "--run", run)
        self.wait_for_event(run, "checkpoint")
        last = job.events(run, "checkpoint")[-1]["iteration"]
        os.kill(self.worker_pids(run)[0], signal.SIGKILL)
        output, _ = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 0, output)
        log = job.events(run)
        place = next(i for i, event in enumerate(log) if event["event"] == "recovery" and event["lost"])
        # One every 50 iterations, and the best one after an epoch. Another may have been written before the worker died.
        saved = [event["iteration"] for event in log[:place] if event["event"] == "checkpoint"]
        self.assertIn(log[place]["iteration"], saved)
        self.assertGreaterEqual(log[place]["iteration"], last)
        self.assertGreater(last, 0)

    def test_a_job_goes_on_with_another_strategy_and_back(self):
        expected = self.weights("whole")
        run = self.run_folder()
        self.train(*CONFIG, *GLOO, "--set", "stop.max_iterations=70", "--run", run)
        self.train("--resume", run, "--quiet", "--set", "sync.strategy=parameter_server", "--set",
                   "stop.max_iterations=140")
        self.train("--resume", run, "--quiet", *GLOO, "--set", "stop.max_iterations=200")

        self.assertLess(job.largest_difference(job.last_weights(run), expected), 1e-5)
        self.assertEqual([event["first_iteration"] for event in job.events(run, "membership")], [0, 70, 140])

    def test_a_resumed_job_has_the_bits_of_one_that_was_not_interrupted(self):
        whole = self.weights("whole", *GLOO)
        run = self.run_folder()
        self.train(*CONFIG, *GLOO, "--set", "stop.max_iterations=120", "--run", run)
        self.train("--resume", run, "--quiet", "--set", "stop.max_iterations=200")
        self.assertEqual(job.last_weights(run), whole)

    def test_what_cannot_be_is_refused_before_anything_starts(self):
        run = self.run_folder()
        hosts = 'cluster.hosts=[{"name":"a","address":"10.9.9.9","workers":2}]'
        output = self.train(*CONFIG, *GLOO, "--set", hosts, "--set", "cluster.listen_address=10.9.9.8", "--run", run,
                            check=2)
        self.assertIn("sync.allow_plaintext", output)
        self.assertFalse(run.exists())


@unittest.skipIf(os.path.exists("/dev/nvidia0"), "this machine may have NCCL")
class MissingTest(job.JobTest):
    def test_nccl_says_how_to_get_it(self):
        for setting in ("sync.strategy=nccl", "device=cuda"):
            output = self.train(*CONFIG, "--set", setting, "--run", self.run_folder(), check=2)
            self.assertIn("CUDA", output)
            self.assertFalse(self.run_folder().exists())


if __name__ == "__main__":
    job.main()
