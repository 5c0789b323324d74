"""Hugging Face's Trainer, an Accelerator's loop and a LightningModule: the weights of plain PyTorch with the same scheduler."""

import importlib.util
import pathlib
import sys
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from sample_order import epoch_order  # noqa: E402

HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "safetensors"))
HAS_TRAINER = HAS_TORCH and all(importlib.util.find_spec(name) for name in ("transformers", "accelerate"))
SAMPLES, BATCH, EPOCHS, WARM_UP, CLIP = 256, 32, 3, 5, 0.5
ITERATIONS = SAMPLES // BATCH * EPOCHS

PARTS = """
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.optim import lr_scheduler

    class Rows:
        def __len__(self):
            return 256

        def __getitem__(self, index):
            x = torch.randn(16, generator=torch.Generator().manual_seed(index))
            return {"inputs": x, "labels": int(x[:4].argmax())}

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))

        def forward(self, inputs, labels):
            logits = self.layers(inputs)
            return {"loss": functional.cross_entropy(logits, labels), "logits": logits}

    torch.manual_seed(1)
    model = Model()
"""
ARGUMENTS = """
    import transformers
    arguments = transformers.TrainingArguments(
        "out", per_device_train_batch_size=32, num_train_epochs=3, learning_rate=0.02, weight_decay=0.1,
        lr_scheduler_type="linear", warmup_steps=5, max_grad_norm=0.5, report_to=[], use_cpu=True)
"""
TRAINER = PARTS + ARGUMENTS + """
    from scavenger.huggingface import Trainer

    Trainer(model=model, args=arguments, train_dataset=Rows()).train()
"""
SGD = """
    def make_optimizer(model):
        return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
"""
ACCELERATED = PARTS + SGD + """
    import scavenger.accelerate

    accelerator = scavenger.accelerate.Accelerator(epochs=3)
    optimizer = make_optimizer(model)
    scheduler = lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=25)
    batches = torch.utils.data.DataLoader(Rows(), batch_size=32, shuffle=True)
    model, optimizer, batches, scheduler = accelerator.prepare(model, optimizer, batches, scheduler)
    for epoch in range(3):
        for batch in batches:
            optimizer.zero_grad()
            accelerator.backward(model(**batch)["loss"])
            optimizer.step()
            scheduler.step()
"""
LIGHTNING = PARTS + SGD + """
    import scavenger.lightning

    class Module(Model):  # with the members of a LightningModule that are asked for
        def configure_optimizers(self):
            optimizer = make_optimizer(self)
            scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "epoch"}}

        def training_step(self, batch, batch_idx):
            return self(**batch)["loss"]

        def on_fit_start(self):
            pass

        on_fit_end = on_fit_start

    torch.manual_seed(1)
    scavenger.lightning.fit(Module(), Rows(), batch_size=32, epochs=3)
"""

sys.path.insert(0, str(job.SOURCE / "python"))


def plain_weights(make, by_epoch=False, clip=None):
    """Those of a plain loop over the job's own batches; `make(scope)` returns an optimizer and a scheduler."""
    import torch
    scope = {}
    exec(textwrap.dedent(PARTS + SGD), scope)
    model, rows = scope["model"], scope["Rows"]()
    optimizer, scheduler = make(scope)
    order = [index for epoch in range(EPOCHS) for index in epoch_order(1, epoch, SAMPLES)]
    for iteration in range(ITERATIONS):
        batch = [rows[index] for index in order[iteration * BATCH:(iteration + 1) * BATCH]]
        optimizer.zero_grad()
        model(torch.stack([row["inputs"] for row in batch]), torch.tensor([row["labels"] for row in batch]))["loss"].backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if not by_epoch or (iteration + 1) % (SAMPLES // BATCH) == 0:
            scheduler.step()
    return {name: value.numpy().tobytes() for name, value in model.state_dict().items()}


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python is not installed")
class AdaptersTest(job.JobTest):
    def environment(self):
        return {**super().environment(), "SCAVENGER_PYTHON": sys.executable}

    def check_weights(self, source, workers, expected):
        script = self.folder / "train.py"
        script.write_text(textwrap.dedent(source))
        self.train(script, "--quiet", "--workers", workers, "--run", self.run_folder(), timeout=600)
        self.assertEqual(job.events(self.run_folder(), "end")[-1]["iteration"], ITERATIONS)
        self.assertLess(job.largest_difference(job.last_weights(self.run_folder()), expected), 1e-5)

    @unittest.skipUnless(HAS_TRAINER, "transformers and accelerate are not installed")
    def test_the_trainers_schedule_decay_and_clipping(self):
        import transformers

        def make(scope):
            exec(textwrap.dedent(ARGUMENTS), scope)
            trainer = transformers.Trainer(model=scope["model"], args=scope["arguments"], train_dataset=scope["Rows"]())
            optimizer = trainer.create_optimizer() or trainer.optimizer
            return optimizer, transformers.get_scheduler("linear", optimizer, WARM_UP, ITERATIONS)
        self.check_weights(TRAINER, 2, plain_weights(make, clip=CLIP))

    @unittest.skipUnless(HAS_TRAINER, "transformers and accelerate are not installed")
    def test_a_trainers_own_scheduler_counts_before_its_arguments(self):
        import torch
        import transformers
        from scavenger.huggingface import Trainer
        scope = {}
        exec(textwrap.dedent(PARTS + SGD), scope)
        optimizer = scope["make_optimizer"](scope["model"])
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)

        class Made(Trainer):
            def create_scheduler(self, num_training_steps, optimizer=None):
                return torch.optim.lr_scheduler.StepLR(optimizer, num_training_steps)

        def scheduling(kind=Trainer, **given):
            arguments = transformers.TrainingArguments(str(self.folder / "out"), per_device_train_batch_size=BATCH, report_to=[],
                                                       num_train_epochs=EPOCHS, lr_scheduler_type="constant", use_cpu=True)
            trainer = kind(model=scope["model"], args=arguments, train_dataset=scope["Rows"](), **given)
            return trainer.scheduling(optimizer)
        self.assertEqual(scheduling(), ({}, None))
        self.assertEqual(scheduling(optimizers=(optimizer, scheduler)), (None, scheduler))
        made = scheduling(Made)
        self.assertEqual((made[0], made[1].step_size), (None, ITERATIONS))

    def test_an_accelerators_scheduler(self):
        import torch

        def make(scope):
            optimizer = scope["make_optimizer"](scope["model"])
            return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=ITERATIONS + 1)
        self.check_weights(ACCELERATED, 1, plain_weights(make))

    def test_a_lightning_modules_scheduler(self):
        import torch

        def make(scope):
            optimizer = scope["make_optimizer"](scope["model"])
            return optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        self.check_weights(LIGHTNING, 1, plain_weights(make, by_epoch=True))

    def test_a_loop_that_steps_its_scheduler_at_other_times_is_told(self):
        from scavenger.accelerate import SchedulerCalls
        from scavenger.problems import UserError

        def loop(interval, calls_after_iteration, calls_after_epoch):
            calls = SchedulerCalls(interval)
            for epoch in range(3):
                for _ in range(4):
                    calls.optimizer_step(epoch)
                    for _ in range(calls_after_iteration):
                        calls.scheduler_step()
                for _ in range(calls_after_epoch):
                    calls.scheduler_step()
        loop("iteration", 1, 0)
        loop("epoch", 0, 1)
        for interval, after_iteration, after_epoch, words in [
                ("iteration", 0, 1, "0 times between two iterations of one epoch"),
                ("iteration", 0, 0, "0 times between two iterations of one epoch"),
                ("iteration", 2, 0, "2 times between two iterations of one epoch"),
                ("epoch", 1, 0, "1 times between two iterations of one epoch"),
                ("epoch", 0, 0, "0 times between two iterations of two epochs")]:
            with self.subTest(f"{interval} {words}"), self.assertRaisesRegex(UserError, words):
                loop(interval, after_iteration, after_epoch)

    def test_a_module_that_steps_by_itself_is_refused(self):
        import torch
        from scavenger import lightning
        from scavenger.problems import UserError

        class Stepping(torch.nn.Linear):
            def lr_scheduler_step(self, scheduler, metric):
                pass

        class Manual(torch.nn.Linear):
            automatic_optimization = False

        for module, words in [(Stepping(1, 1), "its own lr_scheduler_step"), (Manual(1, 1), "automatic_optimization = False")]:
            with self.assertRaisesRegex(UserError, words):
                lightning.fit(module, [1], batch_size=1)


if __name__ == "__main__":
    job.main()
