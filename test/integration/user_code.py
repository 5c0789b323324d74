"""PyTorch code as users write it, which several tests train, and what a test of such jobs starts from."""

import importlib.util
import subprocess
import sys
import unittest

import job

HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "safetensors"))

# With random numbers, statistics and a counter that all must be right after a loss or a resume.
MODEL = """
    import torch
    from torch import nn
    from torch.nn import functional

    def make_model():
        return nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 4))
"""
LOSS = """
    def loss(model, batch):
        inputs, targets = batch
        return functional.cross_entropy(model(inputs), targets)
"""
# A data set that cannot be pickled, and draws random numbers for each sample.
LINES = """
    class Lines:
        def __init__(self, size, first):
            self.size, self.first, self.unpicklable = size, first, lambda: None

        def __len__(self):
            return self.size

        def __getitem__(self, index):
            generator = torch.Generator().manual_seed(self.first + index)
            x = torch.randn(16, generator=generator)
            return x + 0.01 * torch.randn(16), int(x[:4].argmax())
"""
MAKE_DATASET = """
    def make_dataset(split):
        return Lines(512, 0) if split == "train" else Lines(64, 512)
"""


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python is not installed")
class UserCodeTest(job.JobTest):
    """Its jobs run Python in the environment of the test."""

    def environment(self):
        return {**super().environment(), "SCAVENGER_PYTHON": sys.executable}

    def assert_it_is_resized_while_it_trains(self, config):
        """From one worker to two and back. Returns the run folder."""
        run = self.run_folder()
        process = self.start(config, "--quiet", "--workers", 1, "--run", run)
        self.wait_for_event(run, "iterations", timeout=300)
        for workers in (2, 1):
            subprocess.run([job.programs / "scavenger-ctl", run, "resize", "--workers", str(workers), "--wait"],
                           check=True, stdout=subprocess.DEVNULL, timeout=120)
            self.wait_for_event(run, "iterations", len(job.trained(run)) + 2)
        subprocess.run([job.programs / "scavenger-ctl", run, "stop"], check=True, stdout=subprocess.DEVNULL)
        process.communicate(timeout=180)
        self.assertEqual([event["workers"] for event in job.events(run, "membership")], [1, 2, 1])
        return run
