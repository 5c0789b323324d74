"""A module written in Python, trained as a black box: the same as PyTorch DDP, resumed, and back in Python."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "numpy", "safetensors"))
ITERATIONS = 20
BATCH_SIZE = 64
SAMPLES = 256
IMAGE_BYTES = 3 * 32 * 32
DDP = pathlib.Path(__file__).with_name("ddp_reference.py")


def make_images(path, seed):
    """Noise around ten patterns, as CIFAR-10's binary files."""
    import numpy
    random = numpy.random.default_rng(seed)
    patterns = numpy.random.default_rng(0).integers(0, 256, (10, IMAGE_BYTES))
    labels = random.integers(0, 10, SAMPLES)
    pixels = numpy.clip(patterns[labels] * 0.5 + random.integers(0, 128, (SAMPLES, IMAGE_BYTES)), 0, 255)
    path.write_bytes(numpy.hstack([labels[:, None], pixels]).astype(numpy.uint8).tobytes())


def make_odd_models():
    """Modules that only fail once they are trained, by the name of what is odd about them."""
    import torch
    from torch import nn

    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(IMAGE_BYTES, 10)

    class Integers(Base):
        def forward(self, x):
            return self.linear(x.flatten(1)).long()

    class Growing(Base):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(1))

        def forward(self, x):
            if self.training:
                self.seen = torch.cat([self.seen, self.seen])
            return self.linear(x.flatten(1))

    class Detached(Base):
        def forward(self, x):
            return self.linear(x.flatten(1)).detach()

    class Dictionary(Base):
        def forward(self, x):
            return {"logits": self.linear(x.flatten(1))}

    class Raising(Base):
        def forward(self, x):
            if self.training:
                raise ValueError("the answer is 42")
            return self.linear(x.flatten(1))

    return {name: torch.jit.script(kind()) for name, kind in (
        ("integers", Integers), ("growing", Growing), ("detached", Detached),
        ("dictionary", Dictionary), ("raising", Raising))}


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python is not installed")
class TorchScriptTest(job.JobTest):
    def setUp(self):
        super().setUp()
        sys.path.insert(0, str(job.SOURCE / "test" / "unit" / "runtime" / "torch" / "models"))
        make_images(self.folder / "train.bin", 1)
        make_images(self.folder / "test.bin", 2)

    def make_model(self):
        import reference_models
        import torch
        torch.manual_seed(3)
        return reference_models.ResNet(reference_models.BasicBlock, [1, 1, 1, 1], first_channels=8)

    def config(self, model, **more):
        path = self.folder / "job.json"
        path.write_text(json.dumps({
            "name": "own_resnet",
            "data": {"train": {"format": "cifar10", "files": ["train.bin"]},
                     "test": {"format": "cifar10", "files": ["test.bin"]}, "classes": 10},
            "model": model,
            "optimizer": {"type": "sgd", "learning_rate": 1e-4, "momentum": 0.9},
            "batch_size": BATCH_SIZE,
            "cluster": {"workers": 2, "threads_per_worker": 1},
            "stop": {"max_iterations": ITERATIONS},
            **more,
        }))
        return path

    def script(self, module, name="model.pt"):
        import torch
        torch.jit.script(module).save(str(self.folder / name))
        return self.config({"type": "torchscript", "path": name})

    def export(self, run, file):
        job.run_program("scavenger-export", run, file, "--checkpoint", "last")

    def losses(self, run):
        return [loss for event in job.events(run, "iterations") for loss in event["loss"]]

    def test_it_is_evaluated_and_asked_from_a_checkpoint_with_its_buffers(self):
        """Batch normalisation's running statistics are in the checkpoint: with others the numbers would differ."""
        run = self.run_folder()
        self.train(self.script(self.make_model()), "--run", run, "--quiet")
        event = job.events(run, "evaluation")[-1]
        said = subprocess.run(self.command("--evaluate", run, "--checkpoint", "last", "--json"), env=self.environment(), capture_output=True, text=True, check=True)
        found = json.loads(said.stdout)
        self.assertEqual({name: found[name] for name in ("loss", "accuracy", "top5_accuracy")},
                         {name: event[name] for name in ("loss", "accuracy", "top5_accuracy")})
        answers = subprocess.run([str(job.programs / "scavenger-predict"), str(run), "--checkpoint", "last", "--input", str(self.folder / "test.bin")],
                                 env=self.environment(), capture_output=True, text=True, check=True).stdout.splitlines()[1:]
        labels = (self.folder / "test.bin").read_bytes()[:: IMAGE_BYTES + 1]
        right = sum(int(line.split(",")[1]) == label for line, label in zip(answers, labels, strict=True))
        self.assertEqual(right / len(labels), event["accuracy"])

    def test_it_follows_ddp_and_goes_back_to_python(self):
        import ddp_reference
        import safetensors.torch
        import torch
        model = self.make_model()
        config = self.script(model)
        run = self.run_folder()
        self.train(config, "--quiet", "--run", run)

        torch.save(model.state_dict(), self.folder / "start.pth")
        expected = subprocess.run([sys.executable, DDP, self.folder, str(BATCH_SIZE), str(ITERATIONS)], check=True,
                                  capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        for ours, theirs in zip(self.losses(run), json.loads(expected.stdout), strict=True):
            self.assertAlmostEqual(ours, theirs, delta=1e-4)
        trained = torch.load(self.folder / "ddp.pth")

        self.export(run, self.folder / "trained.pt")
        self.export(run, self.folder / "trained.safetensors")
        module = torch.jit.load(str(self.folder / "trained.pt"))
        tensors = safetensors.torch.load_file(self.folder / "trained.safetensors")
        self.assertEqual(set(tensors), set(trained))
        self.assertEqual(tensors["bn1.num_batches_tracked"].dtype, torch.int64)
        for name, tensor in module.state_dict().items():
            self.assertTrue(torch.equal(tensor, tensors[name]), name)
            self.assertEqual(tensor.shape, trained[name].shape)
            self.assertLess((tensor - trained[name]).abs().max().item(), 1e-4, name)
        model.load_state_dict(tensors)
        images, labels = ddp_reference.read_images(self.folder / "test.bin")
        with torch.no_grad():
            self.assertTrue(torch.allclose(model.eval()(images), module(images), atol=1e-6))
            loss = torch.nn.functional.cross_entropy(module(images), labels).item()
        # Both workers have evaluated with the buffers that the checkpoint has.
        self.assertAlmostEqual(job.events(run, "evaluation")[-1]["loss"], loss, delta=1e-5)

    def test_it_resumes_with_the_same_bits(self):
        config = self.script(self.make_model())
        whole, parts = self.run_folder("whole"), self.run_folder("parts")
        self.train(config, "--quiet", "--run", whole)

        self.train(config, "--quiet", "--run", parts, "--set", "stop.max_iterations=7")
        self.train("--resume", parts, "--quiet", "--set", f"stop.max_iterations={ITERATIONS}")

        self.assertEqual(job.last_weights(parts), job.last_weights(whole))

    def test_sparse_gradients_are_made_dense(self):
        import torch
        from torch import nn

        class Embedded(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(256, 10, sparse=True)

            def forward(self, x):
                return self.embedding((x[:, 0, 0, 0] * 255.0).long())

        torch.manual_seed(1)
        run = self.run_folder()
        self.train(self.script(Embedded()), "--quiet", "--run", run)
        self.assertEqual(len(self.losses(run)), ITERATIONS)

    def test_a_pass_without_room_in_memory_is_halved_and_told_at_the_terminal(self):
        import torch
        from torch import nn

        class Hungry(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(3, 10)

            def forward(self, x):
                if self.training and x.size(0) > 8:
                    return torch.empty([1 << 55])
                return self.linear(x.mean([2, 3]))

        run = self.run_folder()
        output = self.train(self.script(Hungry()), "--quiet", "--run", run)  # 32 samples for each worker
        for worker in (0, 1):
            for before, after in ((32, 16), (16, 8)):
                sentence = f"worker {worker}: no memory for a pass of {before} samples: from now on a pass has at most {after}"
                self.assertEqual(output.count(sentence), 1, output)
        self.assertEqual(job.report(run)["warnings"]["total"], 4)
        self.assertEqual(len(self.losses(run)), ITERATIONS)

    def test_what_cannot_be_trained_is_an_error_that_says_why(self):
        import torch
        from torch import nn
        for name, module in make_odd_models().items():
            module.save(str(self.folder / f"{name}.pt"))
        evaluated = nn.Sequential(nn.Conv2d(3, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(1800, 10)).eval()
        torch.jit.trace(evaluated, torch.zeros(2, 3, 32, 32)).save(str(self.folder / "evaluated.pt"))
        (self.folder / "text.pt").write_text("hello")
        self.script(nn.Sequential(nn.Flatten(), nn.Linear(7, 10)), "narrow.pt")
        self.script(nn.Sequential(nn.Flatten(), nn.Linear(IMAGE_BYTES, 3)), "few.pt")
        self.script(nn.Flatten(), "empty.pt")
        self.script(nn.Sequential(nn.Flatten(), nn.Linear(IMAGE_BYTES, 10)), "plain.pt")
        for name, message, more in (("text", "this is not a TorchScript file", {}),
                                    ("narrow", "cannot run the model on such samples", {}),
                                    ("few", "the model's output is [2, 3], and should be [2, 10]", {}),
                                    ("empty", "the model has no parameters", {}),
                                    ("integers", "the model answers numbers of type Long", {}),
                                    ("growing", "buffer seen has become [2]", {}),
                                    ("detached", "cannot train the model: ", {}),
                                    ("dictionary", "forward() answers a dictionary", {}),
                                    ("raising", "the answer is 42", {}),
                                    ("evaluated", "the model was traced in eval() mode", {}),
                                    ("plain", "the module has no method `loss`", {"loss": {"type": "model"}})):
            config = self.config({"type": "torchscript", "path": f"{name}.pt"}, **more)
            run = self.run_folder(name)
            output = self.train(config, "--quiet", "--run", run, check=2)
            self.assertIn(message, output)
            self.assertIn(f"{name}.pt", output)  # where
            self.assertNotIn("Exception raised from", output)  # LibTorch's backtrace
            self.assertEqual(output.count(message), 1, output)
            self.assertIn("scavenger-train: worker ", output)
            self.assertFalse(run.exists(), output)  # nothing was trained: a start that failed leaves nothing


if __name__ == "__main__":
    job.main()
