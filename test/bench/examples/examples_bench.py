"""Each example of examples/ against its twin for torchrun, in seconds per epoch, in turns.

    nice .venv/bin/python test/bench/examples/examples_bench.py [--examples images text tabular language_model] [--json FILE]

Both train the same model with two workers on the same data, evaluate it and write a checkpoint after each epoch. What is measured goes
from the end of the first epoch's evaluation to that of the last one, so that starts and the reading of the data count for neither.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import comparison  # noqa: E402

EXAMPLES = comparison.SOURCE / "examples"
SAMPLES = {"images": 6000, "text": 3000, "tabular": 20000}
SHARED_DATA = pathlib.Path(os.environ.get("SCAVENGER_SHARED_DATA", comparison.SOURCE.parent / "shared" / "data"))
TEXT = SHARED_DATA / "tinyshakespeare" / "input.txt"
CHARACTERS = 60000
RATIOS = [("torchrun / ours", "torchrun", "ours")]
PATIENCE_SECONDS = 1800


def parse():
    parser = comparison.parser(__doc__, rounds=3)
    parser.add_argument("--examples", nargs="+", choices=[*SAMPLES, "language_model"], default=list(SAMPLES))
    parser.add_argument("--epochs", type=int, default=4, help="of each turn, the first of which does not count (default: %(default)s)")
    parser.add_argument("--text", type=pathlib.Path, default=TEXT, help="that the language model is trained on (default: %(default)s)")
    options = parser.parse_args()
    if options.quick:
        options.examples, options.rounds, options.epochs = ["tabular"], 1, 2
    return options


class Example:
    """An example in a folder of its own, with its data."""

    def __init__(self, options, name, folder):
        self.options = options
        self.name = name
        self.folder = folder / name
        shutil.copytree(EXAMPLES / name, self.folder, ignore=shutil.ignore_patterns("data", "__pycache__"))
        if name == "language_model":
            (self.folder / "text.txt").write_text(options.text.read_text(encoding="utf-8")[:CHARACTERS])
        else:
            count = 1000 if options.quick else SAMPLES[name]
            subprocess.run([sys.executable, EXAMPLES / "make_data.py", name, "--to", folder, "--count", str(count)], check=True,
                           stdout=subprocess.DEVNULL)
            self.train_all_epochs()

    def train_all_epochs(self):
        """Has the twin reach no target."""
        twin = self.folder / "torchrun.py"
        text, count = re.subn(r"^(BATCH_SIZE, EPOCHS, TARGET, CHECKPOINT = 64), \d+, [\d.]+,", rf"\1, {self.options.epochs}, 2.0,",
                              twin.read_text(), flags=re.MULTILINE)
        if count != 1:
            raise RuntimeError(f"{twin} has no line with BATCH_SIZE, EPOCHS, TARGET")
        twin.write_text(text)

    def ours(self):
        run = self.folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        words = [self.options.build / "bin" / "scavenger-train", "--quiet", "--run", run, "--set", "evaluation.every_epochs=1",
                 "--set", "checkpoint.every_epochs=1"]
        if self.name == "language_model":
            words[1:1] = ["train.py", "--workers", 2]
            words += ["--", "--text", "text.txt", "--epochs", self.options.epochs]
        else:
            words[1:1] = ["train.json"]
            words += ["--set", "stop.target=null", "--set", f"stop.max_epochs={self.options.epochs}"]
        done = subprocess.run(list(map(str, words)), cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=PATIENCE_SECONDS)
        if done.returncode != 0:
            raise RuntimeError(f"scavenger-train ended with {done.returncode}:\n{done.stdout}")
        events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
        return self.seconds_per_epoch([event["time"] for event in events if event["event"] == "evaluation"])

    def torchrun(self):
        for checkpoint in self.folder.glob("checkpoint.pt*"):
            checkpoint.unlink()
        words = [sys.executable, "-u", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        if self.name == "language_model":
            words += ["train_torchrun.py", "--text", "text.txt", "--epochs", str(self.options.epochs)]
        else:
            words += ["torchrun.py"]
        environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "PYTHONUNBUFFERED": "1"}
        times, said = [], []
        with subprocess.Popen(words, cwd=self.folder, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as process:
            for line in process.stdout:
                said.append(line)
                if re.match(r"epoch \d+:? test", line):
                    times.append(time.monotonic())
        if process.returncode != 0:
            raise RuntimeError(f"torchrun ended with {process.returncode}:\n{''.join(said)}")
        return self.seconds_per_epoch(times)

    def seconds_per_epoch(self, ends):
        if len(ends) != self.options.epochs:
            raise RuntimeError(f"{self.name} told of {len(ends)} epochs instead of {self.options.epochs}")
        return (ends[-1] - ends[0]) / (len(ends) - 1)


def main():
    os.environ.setdefault("SCAVENGER_PYTHON", sys.executable)
    options = parse()
    report = comparison.Report("Examples with two workers", "seconds per epoch", options)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scavenger_bench_")))
        for name in options.examples:
            example = Example(options, name, folder)
            values = comparison.measure_in_turns({"ours": example.ours, "torchrun": example.torchrun}, options.rounds)
            report.add(comparison.Case(name, values, {"example": name, "epochs": options.epochs}), RATIOS)
    report.finish()


if __name__ == "__main__":
    main()
