"""The wheel, in an empty virtual environment without compilers: it is installed, trains with two workers, and simulates.

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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

PROGRAMS = ("scavenger-train", "scavenger-ctl", "scavenger-plan", "scavenger-report", "scavenger-export", "scavenger-ps",
            "scavenger-python-worker", "scavenger-campaign", "scavenger-md", "scavenger-task")
EXAMPLES = job.SOURCE / "examples"
SAMPLES = 1200


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

    def test_it_is_installed_and_trains_an_image_folder_without_a_compiler(self):
        if importlib.util.find_spec("PIL") is None or not job.FASHION.exists():
            self.skipTest(f"pillow or {job.FASHION} is missing")
        venv = self.install(self.wheel())
        shutil.copytree(EXAMPLES / "images", self.folder / "images", ignore=shutil.ignore_patterns("data", "__pycache__"))
        subprocess.run([sys.executable, EXAMPLES / "make_data.py", "images", "--to", self.folder, "--count", str(SAMPLES)],
                       check=True)
        run = self.folder / "run"

        def call(name, *arguments):
            done = subprocess.run(
                [venv / "bin" / name, *arguments], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=600,
                env={"PATH": str(venv / "bin"), "HOME": str(self.folder), "SCAVENGER_TEST_FOLDER": str(self.folder)})
            self.assertEqual(done.returncode, 0, done.stdout)

        call("scavenger-train", "images/train.json", "--run", run, "--quiet", "--set", "stop={\"max_epochs\": 2}")
        self.assertEqual(job.report(run)["status"], "max_epochs")
        last = job.events(run, "evaluation")[-1]
        self.assertEqual(last["samples"], SAMPLES // 10)
        self.assertGreater(last["accuracy"], 0.4)
        call("scavenger-export", run, "trained.pt")
        import torch
        weights = torch.load(self.folder / "trained.pt", weights_only=True)
        self.assertEqual(weights["0.weight"].shape, (16, 1, 3, 3))
        self.assertEqual(weights["1.num_batches_tracked"].dtype, torch.int64)

        config = json.loads((job.CONFIGS / "electrolyte_small.json").read_text())
        path = self.folder / "campaign.json"
        path.write_text(json.dumps(config))
        refused = subprocess.run([venv / "bin" / "scavenger-campaign", path], cwd=self.folder, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180)
        self.assertEqual(refused.returncode, 2, refused.stdout)
        self.assertIn("scavenger-worker, which trains the surrogate", refused.stdout)
        del config["surrogate"], config["selection"]
        config["space"] = {"Z": {"values": [2]}, "c": {"values": [0.5, 1]}, "sigma": {"values": [-0.01]}}
        config["simulation"] = {**config["simulation"], "steps": 20000, "valid": {}}
        path.write_text(json.dumps(config))
        call("scavenger-campaign", path, "--run", self.folder / "ions", "--quiet")
        self.assertEqual(json.loads((self.folder / "ions" / "report.json").read_text())["done"], 2)


if __name__ == "__main__":
    job.main()
