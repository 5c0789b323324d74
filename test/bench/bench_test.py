"""The benchmarks run, and their JSON has what it should: no number is judged.

    bench_test.py BUILD_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).parent
SKIPPED = 77
build = pathlib.Path(".")


class BenchTest(unittest.TestCase):
    def quick(self, name, *arguments):
        """The document that a benchmark wrote, in a quick run."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "result.json"
            done = subprocess.run([sys.executable, FOLDER / f"{name}.py", "--build", build, "--quick", "--json", file,
                                   *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
            if done.returncode == SKIPPED:
                self.skipTest(done.stdout)
            self.assertEqual(done.returncode, 0, done.stdout)
            return json.loads(file.read_text())

    def check(self, document, contestants, ratios):
        self.assertTrue(document["quick"])
        self.assertGreater(document["before"]["cores"], 0)
        case = document["cases"][-1]
        for name in contestants:
            self.assertGreater(case["medians"][name], 0, name)
            self.assertTrue(case["values"][name], name)
        for label in ratios:
            self.assertGreater(case["ratios"][label], 0, label)

    def test_training_throughput_of_product_and_peers(self):
        document = self.quick("training_bench")
        self.check(document, ["ours", "ours alone", "DDP", "DDP views", "DDP alone", "Reducer"],
                   ["ours / DDP", "ours / Reducer", "ours / ours alone"])
        alone = document["cases"][0]
        self.assertEqual(alone["workers"], 1)
        self.assertGreater(alone["ratios"]["ours / PyTorch"], 0)

    def test_throughput_of_a_model_in_python(self):
        document = self.quick("python_bench")
        self.check(document, ["ours", "ours, steps", "DDP"], ["ours / DDP", "ours, steps / DDP"])
        self.assertGreater(document["cases"][0]["ratios"]["ours / PyTorch"], 0)

    def test_synchronisation_alone(self):
        self.check(self.quick("sync_bench"), ["shared memory", "TCP, S = 1", "TCP, spread", "Gloo", "Gloo / 4", "memory limit", "wire limit"],
                   ["Gloo / shared memory", "Gloo / TCP, S = 1"])

    def test_synchronisation_over_links(self):
        self.check(self.quick("network_bench"), ["one shard", "spread shards", "Gloo"], ["Gloo / spread"])

    def test_cost_of_measuring(self):
        self.check(self.quick("overhead_bench"), ["iteration", "worker"], ["worker / iteration"])

    def test_cost_of_the_live_page(self):
        self.check(self.quick("page_bench"), ["without", "with", "alone", "looked at", "job", "slowdown by a look", "slowdown by the page"], [])

    def test_checkpoints(self):
        self.check(self.quick("checkpoint_bench"), ["ours, reported", "ours, on disk", "torch.save"], [])

    def test_pauses_when_the_number_of_workers_changes(self):
        self.check(self.quick("resize_bench"), ["ours", "ours, TCP", "ours, K and B", "ours, K and B, TCP", "torchrun"],
                   ["torchrun / ours", "torchrun / ours, TCP"])


if __name__ == "__main__":
    build = pathlib.Path(sys.argv.pop(1)).resolve()
    if not (build / "bin" / "scavenger-worker").exists():
        print(f"skipped: {build} has no scavenger-worker (built without LibTorch)")
        sys.exit(SKIPPED)
    try:
        import torch  # noqa: F401
    except ImportError:
        print("skipped: there is no PyTorch to compare with")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
