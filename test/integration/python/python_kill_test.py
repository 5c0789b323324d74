"""A job in Python that is killed with SIGKILL at random instants and resumed has the bits of one that was not; one that is resized
while it trains has the losses of one that was not, and each pause is told.

Bounded by default; `python_kill_test.py BUILD/bin --count 50` is the long run. SCAVENGER_TEST_SEED repeats one.
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import textwrap
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
import user_code  # noqa: E402

ITERATIONS_A_KILL = 200  # trained at least, so that there are instants to choose from
BATCH = 32
count = 1

# With random numbers, statistics and a counter that all must be right after a resume. It takes its time, so that the log, which is
# a fifth of a second behind, tells where a job is.
NOISY = """
    import time

    import torch
    from torch import nn
    from torch.nn import functional

    class Rows:
        def __len__(self):
            return 512

        def __getitem__(self, index):
            x = torch.randn(16, generator=torch.Generator().manual_seed(index))
            return x + 0.01 * torch.randn(16), int(x[:4].argmax())

    def make_dataset(split):
        return Rows()

    def make_model():
        return nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 4))

    def loss(model, batch):
        time.sleep(0.002)
        inputs, targets = batch
        return functional.cross_entropy(model(inputs), targets)

    def make_optimizer(model):
        return torch.optim.NAdam(model.parameters(), lr=0.002)

    def make_scheduler(optimizer):
        return torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 150)
"""
# Whose results do not depend on how a batch is divided.
CALM = NOISY.replace("nn.BatchNorm1d(32), ", "").replace("nn.Dropout(0.2), ", "").replace("x + 0.01 * torch.randn(16)", "x")
# Whoever begins with a look at the model waits while there is a file "wait", and says that it does.
WAITING = """
    import pathlib
    import sys
    import time as its_time

    here = pathlib.Path(__file__).parent
    while "inspect" in sys.argv and (here / "wait").exists():
        (here / "waits").touch()
        its_time.sleep(0.02)
""" + CALM
SGD = {"type": "sgd", "learning_rate": 0.01, "momentum": 0.9}
IN_PYTHON = {"type": "python"}


class PythonKillTest(user_code.UserCodeTest):
    orphans_seconds = 60  # from Python 3.14 on, the process that loaders are forked from imports PyTorch first

    def configure(self, source, optimizer, iterations):
        (self.folder / "train.py").write_text(textwrap.dedent(source))
        path = self.folder / "job.json"
        path.write_text(json.dumps({
            "name": "killed", "data": {"train": {"format": "python"}, "test": {"format": "python"}},
            "model": {"type": "python", "file": "train.py"}, "optimizer": optimizer, "batch_size": BATCH,
            "cluster": {"workers": 2}, "stop": {"max_iterations": iterations}, "evaluation": {"enabled": False},
            "checkpoint": {"every_iterations": 30}}))
        return path

    def iterations_logged(self, run):
        return max((event["first"] + event["count"] for event in job.trained(run)), default=0)

    def kill_somewhere(self, process, run, chance):
        """In mid-training, a moment after the log has reached an iteration, or while the job begins."""
        before = self.iterations_logged(run)
        if chance.random() < 0.7:
            place = before + chance.randrange(ITERATIONS_A_KILL // 2)
            while process.poll() is None and self.iterations_logged(run) <= place:
                time.sleep(0.005)
            time.sleep(chance.uniform(0, 0.3))
        else:
            time.sleep(chance.uniform(0, 5))
        process.kill()
        process.wait()
        return f"{before} to {self.iterations_logged(run)}"

    def skip_unless_long(self):
        if count == 1:
            self.skipTest("only with --count")

    def check_kills(self, optimizer):
        seed = int(os.environ.get("SCAVENGER_TEST_SEED", time.time_ns() % 10**6))
        print(f"SCAVENGER_TEST_SEED={seed}")
        chance = random.Random(seed)
        config = self.configure(NOISY, optimizer, ITERATIONS_A_KILL * (count + 1))
        whole, run = self.run_folder("whole"), self.run_folder("killed")
        self.train(config, "--quiet", "--run", whole, timeout=600 + 2 * count)
        story = []
        while len(story) < count:
            is_there = (run / "config.json").exists()
            process = self.start(*(["--resume", run] if is_there else [config, "--run", run]), "--quiet")
            story.append(self.kill_somewhere(process, run, chance))
            self.assert_no_orphans()
        if not (run / "config.json").exists():
            self.train(config, "--quiet", "--run", run, timeout=600)
        elif not job.events(run, "end") or job.events(run, "end")[-1]["status"] != "max_iterations":
            self.train("--resume", run, "--quiet", timeout=600 + 2 * count)
        print(f"killed at (from to): {', '.join(story)}")
        self.assertEqual(job.last_weights(run), job.last_weights(whole), story)
        self.assertEqual(job.read_safetensors(job.checkpoints(run)[-1] / "optimizer.safetensors"),
                         job.read_safetensors(job.checkpoints(whole)[-1] / "optimizer.safetensors"), story)

    def test_a_resume_that_began_before_the_job_ended_does_not_go_on_from_what_is_old(self):
        run, wait = self.run_folder(), self.folder / "wait"
        first = self.start(self.configure(WAITING, SGD, 10**6), "--run", run, "--quiet")
        self.wait_for_event(run, "iterations")
        wait.touch()
        second = self.start("--resume", run, "--quiet")  # it has read the checkpoint when it looks at the model
        while not (self.folder / "waits").exists():
            self.assertIsNone(second.poll())
            time.sleep(0.02)
        before = len(job.events(run, "iterations"))
        self.wait_for_event(run, "iterations", before + 1)
        first.send_signal(signal.SIGINT)
        self.assertEqual(first.wait(timeout=180), 130)
        end = job.events(run, "end")[-1]
        wait.unlink()
        said, _ = second.communicate(timeout=180)
        self.assertEqual(second.returncode, 2, said)
        self.assertIn("another process has worked on this job just now", said)
        self.assertEqual(job.events(run, "end"), [end])

    def test_kills_of_a_job_with_parameter_servers(self):
        self.skip_unless_long()  # python_test kills one, too
        self.check_kills(SGD)

    def test_kills_of_a_job_whose_workers_step(self):
        self.check_kills(IN_PYTHON)

    def check_resizes(self, optimizer):
        config = self.configure(CALM, optimizer, 10**6)
        fixed, resized = self.run_folder("fixed"), self.run_folder("resized")
        process = self.start(config, "--quiet", "--workers", 1, "--run", resized)
        self.wait_for_event(resized, "iterations", timeout=300)
        for workers in (2, 4, 3, 1):
            subprocess.run([job.programs / "scavenger-ctl", resized, "resize", "--workers", str(workers), "--wait"], check=True,
                           stdout=subprocess.DEVNULL, timeout=240)
            self.wait_for_event(resized, "iterations", len(job.trained(resized)) + 2)
        subprocess.run([job.programs / "scavenger-ctl", resized, "stop"], check=True, stdout=subprocess.DEVNULL)
        process.communicate(timeout=120)
        done = job.events(resized, "end")[-1]["iteration"]
        self.train(config, "--quiet", "--workers", 1, "--set", f"stop.max_iterations={done}", "--run", fixed, timeout=600)

        sizes = [event["workers"] for event in job.events(resized, "membership")]
        self.assertEqual([size for i, size in enumerate(sizes) if i == 0 or sizes[i - 1] != size][-1], 1)
        self.assertLessEqual({1, 2, 3, 4}, set(sizes))
        self.assertEqual(job.events(resized, "process_lost"), [])
        pauses = [event["seconds"] for event in job.events(resized, "recovery")]
        print("pauses:", *(f"{1e3 * seconds:.0f} ms" for seconds in pauses))
        self.assertGreaterEqual(len(pauses), 4)
        self.assertLess(max(pauses), 30)
        curves = [self.losses_of(run) for run in (fixed, resized)]
        common = curves[0].keys() & curves[1].keys()
        self.assertGreater(len(common), 50)
        apart = max(abs(curves[0][i] - curves[1][i]) for i in common)
        print(f"largest difference of {len(common)} losses: {apart:.1e}")
        self.assertLess(apart, 1e-4)

    def losses_of(self, run):
        return {event["first"] + i: loss for event in job.events(run, "iterations") for i, loss in enumerate(event["loss"])}

    def test_resizes_of_a_job_with_parameter_servers(self):
        self.check_resizes(SGD)

    def test_resizes_of_a_job_whose_workers_step(self):
        self.skip_unless_long()
        self.check_resizes(IN_PYTHON)


if __name__ == "__main__":
    count = job.count_option(count)
    job.main()
