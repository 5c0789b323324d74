"""Data, learning rates and clipping as a user has them: arrays that Python wrote, another batch size, bits that stay."""

import pathlib
import subprocess
import sys
import time

import numpy
import safetensors.numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

SYNTHETIC = job.CONFIGS / "synthetic_mlp.json"


def two_clusters(samples, seed):
    """Labels 0 and 1, around two points that are far from each other."""
    stream = numpy.random.default_rng(seed)
    y = stream.integers(0, 2, samples)
    x = stream.normal(size=(samples, 6)) + 3.0 * (2 * y[:, None] - 1)
    return x, y


class ArraysTest(job.JobTest):
    def config(self, x, y, classes=2):
        numpy.savez_compressed(self.folder / "train.npz", x=x, y=y)
        test_x, test_y = two_clusters(200, 2)
        safetensors.numpy.save_file({"inputs": test_x.astype(numpy.float32), "y": test_y}, self.folder / "test.safetensors")
        config = self.folder / "job.json"
        config.write_text("""{
          "name": "arrays",
          "data": {
            "train": { "format": "arrays", "features": "train.npz", "labels": "train.npz" },
            "test": { "format": "arrays", "features": "test.safetensors", "labels": "test.safetensors", "features_name": "inputs" },
            "classes": %d },
          "model": { "type": "mlp", "hidden": [8] },
          "optimizer": { "type": "sgd", "learning_rate": 0.1 },
          "batch_size": 20,
          "cluster": { "workers": 2 },
          "stop": { "target": { "metric": "accuracy", "value": 0.95 }, "max_epochs": 20 } }""" % classes)
        return config

    def test_arrays_of_numpy_and_safetensors_are_learned(self):
        config = self.config(*two_clusters(600, 1))
        self.train(config, "--run", self.run_folder(), "--quiet")
        self.assertEqual(job.report(self.run_folder())["status"], "target_reached")

    def test_a_label_beyond_the_classes_is_named(self):
        x, y = two_clusters(50, 1)
        y[17] = 5
        output = self.train(self.config(x, y), check=2)
        for part in ("train.npz", "sample 17", "label 5", "0 to 1"):
            self.assertIn(part, output)


class ClippingTest(job.JobTest):
    def weights(self, name, *arguments):
        self.train(SYNTHETIC, "--quiet", "--run", self.run_folder(name), "--workers", 2, "--set", "optimizer.clip_norm=0.2", "--set", "model.hidden=[256]",
                   "--set", 'stop={"max_iterations": 60}', *arguments)
        return job.last_weights(self.run_folder(name))

    def test_clipped_weights_are_the_same_bits_everywhere(self):
        shared = self.weights("shared", "--set", "sync.transport=shared_memory")
        one = self.weights("one", "--set", "sync.transport=tcp")
        three = self.weights("three", "--set", "sync.transport=tcp", "--set", "ps.shards=3", "--set", "ps.chunk_bytes=4096")
        small = self.weights("small", "--set", "sync.transport=shared_memory", "--set", "ps.chunk_bytes=4096")
        self.assertEqual(shared, one)
        self.assertEqual(three, small)
        unclipped = self.weights("unclipped", "--set", "optimizer.clip_norm=null")
        self.assertNotEqual(shared, unclipped)
        all_reduced = self.weights("gloo", "--set", "sync.strategy=gloo")
        self.assertLess(job.largest_difference(shared, all_reduced), 1e-5)
        self.assertGreater(job.largest_difference(unclipped, all_reduced), 1e-3)


class LearningRateTest(job.JobTest):
    def test_the_rate_follows_a_change_of_the_batch_size(self):
        run = self.run_folder()
        rule = ["--set", "optimizer.batch_size_rule=linear"]
        self.train(SYNTHETIC, "--quiet", "--run", run, "--set", 'stop={"max_iterations": 20}', "--batch-size", 32, *rule)
        first = job.events(run, "iterations")[-1]["learning_rate"]
        self.train("--resume", run, "--quiet", "--batch-size", 64, "--set", "stop.max_iterations=40")
        self.assertAlmostEqual(job.events(run, "iterations")[-1]["learning_rate"], 2 * first)

    def ctl(self, run, *arguments):
        done = subprocess.run([str(job.programs / "scavenger-ctl"), str(run), *map(str, arguments)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180, env=self.environment())
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_adascale_follows_the_noise_through_a_resize_and_a_resume(self):
        run = self.run_folder()
        process = self.start(SYNTHETIC, "--quiet", "--run", run, "--set", 'stop={"max_epochs": 1000000}', "--batch-size", 64,
                             "--set", "optimizer.batch_size_rule=adascale", "--set", "evaluation.every_epochs=100000",
                             # A job that has converged has no noise scale: this one stays where it begins.
                             "--set", "optimizer.learning_rate=1e-6",
                             "--set", "checkpoint.every_epochs=100000")
        self.wait_for_event(run, "noise_stable", timeout=180)
        first = job.events(run, "iterations")[-1]["learning_rate"]
        self.assertEqual(job.events(run, "rate_decision"), [])  # the batch that the rate is for
        self.ctl(run, "resize", "--batch-size", 256, "--wait")
        known = lambda: [event for event in job.events(run, "rate_decision") if event["noise_scale"] is not None]
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline and not (known() and self.is_applied(run, known()[-1])):
            time.sleep(0.05)
        self.ctl(run, "stop")
        process.communicate(timeout=180)
        decision = known()[-1]
        noise_scale = decision["noise_scale"]
        self.assertEqual(decision["batch_size"], 256)
        self.assertAlmostEqual(decision["factor"], 4 * (64 + noise_scale) / (256 + noise_scale))
        last = job.events(run, "membership")[-1]
        self.assertEqual(last["batch_size"], 256)
        self.assertAlmostEqual(job.events(run, "iterations")[-1]["learning_rate"] / first, last["rate_factor"])

        self.train("--resume", run, "--quiet", "--set", 'stop={"max_iterations": %d}' % (job.events(run, "end")[-1]["iteration"] + 5))
        self.assertEqual(job.events(run, "membership")[-1]["rate_factor"], last["rate_factor"])
        self.assertEqual(job.report(run)["phases"][-1]["rate_factor"], last["rate_factor"])

    def is_applied(self, run, decision):
        return job.events(run, "membership")[-1]["rate_factor"] == decision["factor"]

    def test_a_loss_that_is_not_a_number_says_where_and_what_is_left(self):
        run = self.run_folder()
        self.train(SYNTHETIC, "--quiet", "--run", run, "--workers", 2, "--set", 'stop={"max_iterations": 20}')
        output = self.train("--resume", run, "--set", "stop.max_iterations=4000", "--set", "optimizer.learning_rate=1e30",
                            check=1)
        for part in ("iteration 2", "worker ", "the last good checkpoint is", str(job.checkpoints(run)[0])):
            self.assertIn(part, output)


if __name__ == "__main__":
    job.main()
