"""Optimizers that the parameter server does not have: workers step them, as plain PyTorch does, through kills and resizes."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
import user_code  # noqa: E402
from sample_order import epoch_order  # noqa: E402

ITERATIONS, SAMPLES, BATCH = 30, 256, 32

# Two groups with settings of their own, and a scheduler.
MODEL = """
    import torch
    from torch import nn
    from torch.nn import functional

    class Rows:
        def __len__(self):
            return 256

        def __getitem__(self, index):
            x = torch.randn(16, generator=torch.Generator().manual_seed(index))
            return x, int(x[:4].argmax())

    def make_model():
        return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))

    def loss(model, batch):
        inputs, targets = batch
        return functional.cross_entropy(model(inputs), targets)

    def make_optimizer(model):
        return torch.optim.RMSprop([{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.01},
                                    {"params": [p for p in model.parameters() if p.dim() == 1], "lr": 0.002}],
                                   lr=0.004, momentum=0.5)

    def make_scheduler(optimizer):
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
"""
FILE = MODEL + """
    def make_dataset(split):
        return Rows()
"""
SCRIPT = MODEL + """
    import scavenger

    torch.manual_seed(1)
    model = make_model()
    optimizer = make_optimizer(model)
    scavenger.prepare(model, optimizer, scheduler=make_scheduler(optimizer))
    for batch in scavenger.loader(Rows(), batch_size=32, max_iterations=30):
        scavenger.step(loss(model, batch))
"""
# The job's own batches and initial weights, for PyTorch alone.
PLAIN = FILE + """
    def train(order):
        torch.manual_seed(1)
        model = make_model()
        optimizer = make_optimizer(model)
        scheduler = make_scheduler(optimizer)
        rows = Rows()
        for batch in order:
            optimizer.zero_grad()
            samples = [rows[index] for index in batch]
            loss(model, (torch.stack([x for x, _ in samples]), torch.tensor([y for _, y in samples]))).backward()
            optimizer.step()
            scheduler.step()
        return {name: value.numpy().tobytes() for name, value in model.state_dict().items()}
"""


class OptimizersTest(user_code.UserCodeTest):
    def configure(self, **changes):
        (self.folder / "train.py").write_text(textwrap.dedent(FILE))
        config = {"name": "stepped", "data": {"train": {"format": "python"}, "test": {"format": "python"}},
                  "model": {"type": "python", "file": "train.py"}, "optimizer": {"type": "python"}, "batch_size": BATCH,
                  "stop": {"max_iterations": ITERATIONS}, "evaluation": {"enabled": False}, **changes}
        path = self.folder / "job.json"
        path.write_text(json.dumps(config))
        return path

    def weights_of(self, name, config, *arguments):
        self.train(config, "--quiet", "--run", self.run_folder(name), *arguments)
        return job.last_weights(self.run_folder(name))

    def plain_weights(self):
        scope = {}
        exec(textwrap.dedent(PLAIN), scope)
        order = [index for epoch in range(ITERATIONS * BATCH // SAMPLES + 1) for index in epoch_order(1, epoch, SAMPLES)]
        return scope["train"]([order[i * BATCH:(i + 1) * BATCH] for i in range(ITERATIONS)])

    def test_it_has_the_weights_of_plain_pytorch_also_in_a_loop_of_its_own(self):
        found = self.weights_of("file", self.configure(), "--workers", 2)
        self.assertLess(job.largest_difference(found, self.plain_weights()), 1e-5)
        script = self.folder / "loop.py"
        script.write_text(textwrap.dedent(SCRIPT))
        self.assertEqual(found, self.weights_of("script", script, "--workers", 2))

    def test_it_goes_on_with_other_workers_and_without_a_lost_one(self):
        config = self.configure(stop={"max_iterations": 200})
        whole = self.weights_of("whole", config, "--workers", 1)
        run = self.run_folder()
        self.train(config, "--quiet", "--workers", 2, "--run", run, "--set", "stop.max_iterations=50")
        state = job.read_safetensors(job.checkpoints(run)[-1] / "optimizer.safetensors")
        self.assertIn("square_avg/0.weight", state)
        process = self.start("--resume", run, "--quiet", "--workers", 3, "--set", "stop.max_iterations=200")
        self.wait_for_event(run, "membership", 2, timeout=300)
        worker = [event for event in job.events(run, "process_joined") if event["role"] == "worker"][-1]
        with contextlib.suppress(ProcessLookupError):  # it may have done its 150 iterations
            os.kill(worker["pid"], signal.SIGKILL)
        said, _ = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, said)
        self.assertEqual(job.events(run, "end")[-1]["iteration"], 200)
        self.assertLess(job.largest_difference(whole, job.last_weights(run)), 1e-4)

    def test_it_is_resized_1_2_4_3_1(self):
        """Without random numbers the losses are those of a job that is never resized, to the order of sums."""
        config = self.configure(stop={"max_iterations": 10**6}, cluster={"threads_per_worker": 1})
        run, fixed = self.run_folder("resized"), self.run_folder("fixed")
        process = self.start(config, "--quiet", "--workers", 1, "--run", run)
        self.wait_for_event(run, "iterations", timeout=300)
        for workers in (2, 4, 3, 1):
            subprocess.run([job.programs / "scavenger-ctl", run, "resize", "--workers", str(workers), "--wait"], check=True,
                           stdout=subprocess.DEVNULL, timeout=240)
            self.wait_for_event(run, "iterations", len(job.trained(run)) + 1)
        subprocess.run([job.programs / "scavenger-ctl", run, "stop"], check=True, stdout=subprocess.DEVNULL)
        process.communicate(timeout=120)
        self.assertEqual([event["workers"] for event in job.events(run, "membership")], [1, 2, 4, 3, 1])
        self.assertEqual(job.events(run, "process_lost"), [])
        done = job.events(run, "end")[-1]["iteration"]
        self.assertEqual(sum(event["count"] for event in job.trained(run)), done)
        print("pauses:", *(f"{1e3 * event['seconds']:.0f} ms" for event in job.events(run, "recovery")))
        self.train(config, "--quiet", "--run", fixed, "--workers", 1, "--set", f"stop.max_iterations={min(done, 200)}",
                   timeout=600)
        curves = [{event["first"] + i: loss for event in job.events(each, "iterations") for i, loss in enumerate(event["loss"])}
                  for each in (run, fixed)]
        common = curves[0].keys() & curves[1].keys()
        self.assertGreater(len(common), 20)
        self.assertLess(max(abs(curves[0][i] - curves[1][i]) for i in common), 1e-3)

    def test_an_optimizer_that_fails_is_told_as_its_own_traceback(self):
        source = FILE.replace("def make_scheduler(optimizer):", """class Failing(torch.optim.RMSprop):
        steps = 0
        def step(self, closure=None):
            Failing.steps += 1
            if Failing.steps == 5:
                raise ValueError("no step")
            return super().step()

    def make_optimizer(model):
        return Failing(model.parameters(), lr=0.01)

    def unused(optimizer):""")
        config = self.configure()
        (self.folder / "train.py").write_text(textwrap.dedent(source))
        said = self.train(config, "--quiet", "--workers", 2, "--run", self.run_folder(), check=1)
        self.assertEqual(said.count("ValueError: no step"), 1, said)
        self.assertEqual(said.count("the optimizer's step() failed"), 1, said)

    def test_a_scheduler_that_fails_is_told_as_its_own_traceback(self):
        config = self.configure()
        (self.folder / "train.py").write_text(textwrap.dedent(FILE.replace("def make_scheduler(optimizer):", """def rate(step):
        if step == 5:
            raise ValueError("no rate for step 5")
        return 1.0

    def make_scheduler(optimizer):
        return torch.optim.lr_scheduler.LambdaLR(optimizer, rate)

    def unused(optimizer):""")))
        said = self.train(config, "--quiet", "--workers", 1, "--run", self.run_folder(), check=1)
        self.assertEqual(said.count("ValueError: no rate for step 5"), 1, said)
        self.assertEqual(said.count("the scheduler's step() failed"), 1, said)


if __name__ == "__main__":
    job.main()
