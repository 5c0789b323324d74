"""Real data through the real programs, to the accuracy that the configurations promise."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402


class TargetTest(job.JobTest):
    def reach(self, config, data=None):
        run = self.run_folder()
        path = job.ready_config(config, data) if data else job.CONFIGS / config
        self.train(path, "--run", run, "--quiet", timeout=800)
        report = job.report(run)
        self.assertEqual(report["status"], "target_reached")
        self.assertEqual([event["workers"] for event in job.events(run, "membership")], [2])

    @unittest.skipUnless(job.FASHION.exists(), "the package dataset-fashion-mnist is not installed")
    def test_fashion_mlp_reaches_88_percent(self):
        self.reach("fashion_mlp.json")

    @unittest.skipUnless((job.SHARED_DATA / "mnist").exists(), "the shared data is not here")
    def test_mnist_cnn_reaches_97_percent(self):
        self.reach("mnist_cnn.json", "mnist")

    @unittest.skipUnless((job.SHARED_DATA / "cifar10").exists(), "the shared data is not here")
    def test_cifar10_cnn_reaches_55_percent(self):
        self.reach("cifar10_cnn.json", "cifar10")

    @unittest.skipUnless((job.SHARED_DATA / "digits").exists(), "the shared data is not here")
    def test_digits_mlp_reaches_its_target(self):
        self.reach("digits_mlp.json", "digits")


if __name__ == "__main__":
    job.main()
