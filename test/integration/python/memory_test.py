"""A process of a job in Python that takes more memory than it may: the kernel kills it, and the job says so, or goes on."""

import json
import pathlib
import subprocess
import sys
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
import user_code  # noqa: E402

sys.path.insert(0, str(job.SOURCE / "test" / "support"))
import memory_limit  # noqa: E402

LIMIT_MEBIBYTES = 64  # beside what a process has before it is limited
# A process takes four times as much as soon as there is a file of its number,
# or enters the group that a file names, as each loader process does then. Training takes its time, so that the log, which is a fifth
# of a second behind, tells where a job is. Its results do not depend on how a batch is divided.
SOURCE = """
    import os
    import pathlib
    import time

    import torch
    from torch import nn
    from torch.nn import functional

    def take_memory(kind):
        folder = pathlib.Path(__file__).parent
        group = folder / f"group_of_{kind}s"
        if group.exists():
            pathlib.Path(group.read_text(), "cgroup.procs").write_text(str(os.getpid()))
        if group.exists() or (folder / f"hungry_{kind}_{os.getpid()}").exists():
            torch.ones(4 * LIMIT_MEBIBYTES, 2**20, dtype=torch.uint8)

    class Rows:
        def __len__(self):
            return 512

        def __getitem__(self, index):
            (pathlib.Path(__file__).parent / f"loader_{os.getpid()}").touch()
            take_memory("loader")
            x = torch.randn(16, generator=torch.Generator().manual_seed(index))
            return x, int(x[:4].argmax())

    def make_dataset(split):
        return Rows()

    def make_model():
        return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))

    def loss(model, batch):
        time.sleep(0.005)
        take_memory("worker")
        inputs, targets = batch
        return functional.cross_entropy(model(inputs), targets)
""".replace("LIMIT_MEBIBYTES", str(LIMIT_MEBIBYTES))
REASON = "was killed by signal 9 (Killed); perhaps memory ran out"

LOADER_KILLED = r"a loader process ended with exit code -9 \(killed: perhaps memory ran out\) while it loaded samples \d+"


@unittest.skipUnless(memory_limit.can_limit(), "needs root and the memory controller of cgroup version 1")
class MemoryTest(user_code.UserCodeTest):
    orphans_seconds = 60  # from Python 3.14 on, the process that loaders are forked from imports PyTorch first

    def setUp(self):
        super().setUp()
        (self.folder / "train.py").write_text(textwrap.dedent(SOURCE))
        self.config = self.folder / "job.json"
        self.config.write_text(json.dumps({
            "name": "hungry", "data": {"train": {"format": "python"}, "test": {"format": "python"}},
            "model": {"type": "python", "file": "train.py"}, "optimizer": {"type": "sgd", "learning_rate": 0.05},
            "batch_size": 32, "cluster": {"workers": 2}, "stop": {"max_iterations": 300}, "evaluation": {"enabled": False},
            "checkpoint": {"every_iterations": 50}}))
        self.limit = memory_limit.MemoryLimit(LIMIT_MEBIBYTES)
        self.addCleanup(self.limit.close)

    def begin(self, *arguments):
        run = self.run_folder()
        process = self.start(self.config, "--quiet", "--run", run, *arguments)
        self.wait_for_event(run, "checkpoint", timeout=300)
        return process, run

    def starve(self, kind, pid):
        self.limit.add(pid)
        (self.folder / f"hungry_{kind}_{pid}").touch()

    def worker(self, run, index):
        return next(event["pid"] for event in job.events(run, "process_started")
                    if (event["role"], event["index"]) == ("worker", index))

    def whole(self, *arguments):
        self.train(self.config, "--quiet", "--run", self.run_folder("whole"), *arguments, timeout=600)
        return job.last_weights(self.run_folder("whole"))

    def test_a_worker_that_is_killed_is_replaced(self):
        process, run = self.begin("--set", "stop.max_iterations=1000000")
        self.starve("worker", self.worker(run, 1))
        self.wait_for_event(run, "membership", 3, timeout=300)
        subprocess.run([job.programs / "scavenger-ctl", run, "stop"], check=True, stdout=subprocess.DEVNULL)
        output, _ = process.communicate(timeout=120)
        self.assertEqual(self.limit.killed(), 1)
        lost, = job.events(run, "process_lost")
        self.assertEqual((lost["role"], lost["index"]), ("worker", 1))
        self.assertIn(REASON, lost["how"])
        self.assertEqual(output.count(REASON), 1, output)
        self.assertEqual([event["workers"] for event in job.events(run, "membership")], [2, 1, 2])
        done = job.events(run, "end")[-1]["iteration"]
        whole = self.whole("--set", f"stop.max_iterations={done}")
        self.assertLess(job.largest_difference(job.last_weights(run), whole), 1e-4)

    def test_a_job_that_ends_with_its_worker_says_why_in_one_error(self):
        process, run = self.begin("--set", "faults.on_worker_loss=stop")
        self.starve("worker", self.worker(run, 0))
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, output)
        self.assertEqual(self.limit.killed(), 1)
        self.assertEqual(output.count(f"worker 0 {REASON}"), 1, output)
        self.assertNotIn("Traceback", output)
        self.train("--resume", run, "--quiet", timeout=600)
        self.assertEqual(job.last_weights(run), self.whole())  # the same bits

    def test_a_loader_process_that_is_killed_is_replaced(self):
        process, run = self.begin()
        for path in self.folder.glob("loader_*"):
            self.starve("loader", int(path.name.split("_")[1]))
        output, _ = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 0, output)
        self.assertGreaterEqual(self.limit.killed(), 2)  # one or two of each worker
        self.assertEqual(job.events(run, "process_lost"), [])
        self.assertRegex((run / "logs" / "worker_0.log").read_text(), LOADER_KILLED)
        self.assertEqual(job.last_weights(run), self.whole())  # the same bits

    def test_loader_processes_that_are_killed_again_and_again_end_the_job_with_one_error(self):
        process, run = self.begin("--workers", 1)
        (self.folder / "group_of_loaders.new").write_text(str(self.limit.folder))
        (self.folder / "group_of_loaders.new").rename(self.folder / "group_of_loaders")
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, output)
        self.assertGreaterEqual(self.limit.killed(), 3)
        failure = next(line for line in output.splitlines() if "failed: worker 0" in line)
        self.assertRegex(failure, LOADER_KILLED)
        self.assertIn("use less memory", failure)
        self.assertNotIn("learning_rate", output)
        self.assertNotIn("LoaderLost", output)
        self.assertNotIn("Traceback", output)


if __name__ == "__main__":
    job.main()
