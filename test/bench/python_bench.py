"""Throughput of a model in Python, in samples per second: scavenger-train against PyTorch DDP over Gloo, in turns.

    nice .venv/bin/python test/bench/python_bench.py [--models mlp resnet18] [--workers 1 2 4] [--json FILE]

About five minutes on two cores for the MLP; ResNet18 is asked for by name. The same module (peers/peer_models.py), batch per worker,
threads per process (cores / K, at least 1), SGD with momentum, all on this machine.

  ours          scavenger-train as a user runs it, with "model": {"type": "python"}; wall time of the iterations after a warm-up
  ours, steps   the same where workers step the optimizer in Python (sync.strategy: all_reduce)
  PyTorch       K = 1: a plain loop, with its data ready in memory, as for DDP
  DDP           DistributedDataParallel over Gloo on loopback

At K = 1 the overhead of an iteration over plain PyTorch is 1 / ratio - 1.
"""

import contextlib
import os
import pathlib
import sys
import tempfile

import comparison
import training_bench
import training_job

HERE = pathlib.Path(__file__).resolve().parent
RATIOS = [("ours / PyTorch", "ours", "PyTorch"), ("ours, steps / PyTorch", "ours, steps", "PyTorch"),
          ("ours / DDP", "ours", "DDP"), ("ours, steps / DDP", "ours, steps", "DDP")]
FILE = """
import sys

import torch

sys.path.insert(0, {peers!r})
import peer_models


def make_model():
    return peer_models.make_model({model!r})


def make_optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
"""


def parse():
    parser = comparison.parser(__doc__, rounds=5)
    parser.add_argument("--models", nargs="+", choices=training_bench.BATCH, default=["mlp"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--seconds", type=float, default=3, help="of each turn (default: %(default)s); at least 4 iterations")
    options = parser.parse_args()
    options.set = []
    if options.quick:
        options.models, options.workers, options.rounds, options.seconds = ["mlp"], [1, 2], 1, 0.2
    return options


class Conditions(training_bench.Conditions):
    """Of a job whose model is in a Python file, in `folder`."""

    def __init__(self, options, model, workers, cores, folder):
        super().__init__(options, model, workers, cores)
        self.file = folder / f"{model}.py"
        self.file.write_text(FILE.format(peers=str(HERE / "peers"), model=model))
        self.steps_in_python = False

    def job(self, workers):
        config = training_job.configuration(self.model, workers, self.batch * workers, self.threads,
                                            {"type": "python", "file": str(self.file)})
        if self.steps_in_python:
            config |= {"optimizer": {"type": "python"}, "sync": {"strategy": "all_reduce"}}
        return training_job.TrainingJob(self.options.build, config, self.options.set)

    def ours_with(self, steps_in_python):
        self.steps_in_python = steps_in_python
        return self.ours()


def measure(conditions, rounds):
    contestants = {"ours": lambda: conditions.ours_with(False), "ours, steps": lambda: conditions.ours_with(True)}
    with contextlib.ExitStack() as stack:
        peer = "PyTorch" if conditions.workers == 1 else "DDP"
        contestants[peer] = conditions.together(stack.enter_context(conditions.ddp_crew()))
        values = comparison.measure_in_turns(contestants, rounds)
    facts = {"model": conditions.model, "workers": conditions.workers, "batch_per_worker": conditions.batch,
             "threads_per_worker": conditions.threads}
    return comparison.Case(f"{conditions.model}, K = {conditions.workers}", values, facts)


def main():
    os.environ.setdefault("SCAVENGER_PYTHON", sys.executable)
    options = parse()
    report = comparison.Report("Training throughput of a model in Python", "samples/s", options)
    cores = report.document["before"]["cores"]
    with tempfile.TemporaryDirectory(prefix="scavenger_bench_") as folder:
        for model in options.models:
            for workers in options.workers:
                report.add(measure(Conditions(options, model, workers, cores, pathlib.Path(folder)), options.rounds), RATIOS)
    report.finish()


if __name__ == "__main__":
    main()
