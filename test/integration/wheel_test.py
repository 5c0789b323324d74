"""The wheel, in an empty virtual environment without compilers: it is installed and trains with two workers.

It is packed from the build that is tested. SCAVENGER_WHEEL names one that scripts/build_wheel.sh has made in its place.
"""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import unittest

import job

PROGRAMS = ("scavenger-train", "scavenger-ctl", "scavenger-plan", "scavenger-report", "scavenger-export", "scavenger-ps",
            "scavenger-python-worker")
TRAIN = """
import torch
from torch.nn import functional

def make_model():
    return torch.nn.Linear(16, 4)

def loss(model, batch):
    inputs, targets = batch
    return functional.cross_entropy(model(inputs), targets)
"""


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch for Python is not installed")
class WheelTest(job.JobTest):
    def wheel(self):
        if "SCAVENGER_WHEEL" in os.environ:
            return pathlib.Path(os.environ["SCAVENGER_WHEEL"]).resolve()
        stage = self.folder / "stage"
        for folder in ("bin", "lib"):
            (stage / folder).mkdir(parents=True)
        for name in PROGRAMS:
            shutil.copy(job.programs / name, stage / "bin" / name)
        shutil.copy(job.programs.parent / "lib" / "libscavenger_worker.so", stage / "lib")
        subprocess.run([sys.executable, job.SOURCE / "scripts" / "pack_wheel.py", stage, self.folder / "wheels"],
                       check=True, stdout=subprocess.DEVNULL)
        return next((self.folder / "wheels").glob("*.whl"))

    def install(self, wheel):
        """A virtual environment with the wheel; PyTorch is that of this Python."""
        venv = self.folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        python = venv / "bin" / "python"
        packages = pathlib.Path(subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], check=True, text=True,
            stdout=subprocess.PIPE).stdout.strip())
        subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps",
                        wheel], check=True, env={**os.environ, "PYTHONNOUSERSITE": "1"})
        (packages / "torch.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        return venv

    def test_it_is_installed_and_trains_without_a_compiler(self):
        venv = self.install(self.wheel())
        (self.folder / "train.py").write_text(TRAIN)
        config = json.loads((job.CONFIGS / "synthetic_mlp.json").read_text())
        del config["$schema"]
        config.update(model={"type": "python", "file": "train.py"}, stop={"max_epochs": 2})
        (self.folder / "job.json").write_text(json.dumps(config))
        done = subprocess.run(
            [venv / "bin" / "scavenger-train", "job.json", "--workers", "2", "--run", "run", "--quiet"], cwd=self.folder,
            env={"PATH": str(venv / "bin"), "HOME": str(self.folder), "SCAVENGER_TEST_FOLDER": str(self.folder)},
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(job.report(self.folder / "run")["status"], "max_epochs")
        self.assertEqual(len(job.last_weights(self.folder / "run")["weight"]), 16 * 4 * 4)


if __name__ == "__main__":
    job.main()
