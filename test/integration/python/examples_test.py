"""The examples in examples/, with little data, and what their README says of their lines. wheel_test has that of images."""

import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
import user_code  # noqa: E402

EXAMPLES = job.SOURCE / "examples"
NEEDS = {"images": ("PIL",), "text": ("tokenizers", "transformers"), "tabular": ("pyarrow",)}
SAMPLES = 1200


class ExamplesTest(user_code.UserCodeTest):
    def learn(self, name, least, *arguments):
        """Trains an example, which must reach an accuracy."""
        for module in NEEDS[name]:
            if importlib.util.find_spec(module) is None:
                self.skipTest(f"{module} is not installed")
        if name != "text" and not job.FASHION.exists():
            self.skipTest(f"there is no {job.FASHION}")
        shutil.copytree(EXAMPLES / name, self.folder / name, ignore=shutil.ignore_patterns("data", "__pycache__"))
        subprocess.run([sys.executable, EXAMPLES / "make_data.py", name, "--to", self.folder, "--count", str(SAMPLES)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        run = self.run_folder()
        self.train(self.folder / name / "train.json", "--quiet", "--run", run, "--set", "stop.target=null", *arguments,
                   timeout=600)  # all processes import large libraries
        last = job.events(run, "evaluation")[-1]
        self.assertEqual(last["samples"], SAMPLES // 10)
        self.assertGreater(last["accuracy"], least)

    def test_text(self):
        self.learn("text", 0.6, "--set", "stop.max_epochs=2")

    def test_tabular(self):
        self.learn("tabular", 0.4, "--set", "stop.max_epochs=2")

    def test_the_readme_counts_their_lines(self):
        def lines(*names):
            return sum(1 for name in names for line in (EXAMPLES / name).read_text().splitlines() if line.strip())
        readme = (EXAMPLES / "README.md").read_text()
        for name in NEEDS:
            ours = lines(f"{name}/train.json", f"{name}/train.py")
            theirs = lines(f"{name}/torchrun.py", f"{name}/train.py")
            self.assertIn(f"| {name} | {ours} | {theirs} | {theirs - ours} |", readme)
            compile((EXAMPLES / name / "torchrun.py").read_text(), name, "exec")
            used = json.loads((EXAMPLES / name / "train.json").read_text())["data"]["train"]["format"]
            self.assertTrue(re.search(rf"`{used}`", (job.SOURCE / "docs" / "python_data.md").read_text()))


if __name__ == "__main__":
    job.main()
