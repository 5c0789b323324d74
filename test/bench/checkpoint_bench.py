"""How long training stands still for a checkpoint, in milliseconds: ours, and torch.save in a plain PyTorch loop, in turns.

    .venv/bin/python test/bench/checkpoint_bench.py [--workers 2] [--checkpoints 10] [--json FILE]

The model is an MLP 784-3000-2920-10 (44.6 MB of weights, as much of momentum), batch 32 per worker; a checkpoint every 10 iterations.

  ours, reported   "stall_seconds" of the events: from when all workers have reached the boundary until they may go on
  ours, gap        wall time from one boundary to the next, without the iterations between: what workers see
  ours, in all     the gap, and by how much the iterations after it took longer than others, while state is copied and written
  torch.save       of weights and optimizer state to the same disk, and fsync, which our checkpoints have, too
  ours, on disk    until a checkpoint is safe, beside training
"""

import os
import pathlib
import statistics
import sys
import tempfile

import comparison
import training_job
from crew import Crew

HIDDEN = [3000, 2920]
BATCH = 32
EVERY = 10  # iterations


def parse():
    parser = comparison.parser(__doc__, rounds=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--checkpoints", type=int, default=10, help="in a turn (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting for scavenger-train")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.checkpoints = 1, 2
    return options


def run_job(options):
    """The events of a job that makes these checkpoints, one before them, when caches are cold, and at least one after them."""
    threads = max(1, len(os.sched_getaffinity(0)) // options.workers)
    config = training_job.configuration("mlp", options.workers, BATCH * options.workers, threads,
                                        {"type": "mlp", "hidden": HIDDEN})
    config["checkpoint"] = {"every_iterations": EVERY, "keep_last": 2, "keep_best": False}
    with training_job.TrainingJob(options.build, config, options.set) as job:
        job.wait_for_events("checkpoint", options.checkpoints + 2)
        job.interrupt()
        job.wait_for_end()
        return job.events()


def durations(events, count):
    """Milliseconds of this many checkpoints, without the first, by what they count."""
    checkpoints = [event for event in events if event["event"] == "checkpoint"][1:count + 1]
    iterations = [event for event in events if event["event"] == "iterations"]
    found = {"ours, reported": [1e3 * event["stall_seconds"] for event in checkpoints],
             "ours, on disk": [1e3 * event["write_seconds"] for event in checkpoints], "ours, gap": [], "ours, in all": []}
    for checkpoint in checkpoints:
        gap, in_all = around(iterations, checkpoint["iteration"])
        found["ours, gap"].append(1e3 * gap)
        found["ours, in all"].append(1e3 * in_all)
    return found


def around(iterations, boundary):
    """The pause at this boundary, and with it the time lost until the next regular one, in seconds. Where the disk is slow, a
    checkpoint waits for the one before it: it is made between regular boundaries, and the log need not be cut at these."""
    next_regular = (boundary // EVERY + 1) * EVERY
    ends = {event["first"] + event["count"]: event["time"] for event in iterations}
    until = min(end for end in ends if end >= next_regular)
    seconds = [value for event in iterations if boundary <= event["first"] < until for value in event["seconds"]]
    half = len(seconds) // 2
    usual = statistics.median(seconds[half:])  # the copies are made by then
    gap = ends[until] - ends[boundary] - sum(seconds)
    return gap, gap + sum(max(0.0, value - usual) for value in seconds[:half])


def main():
    options = parse()
    report = comparison.Report("Training stands still for a checkpoint of 44.6 MB of weights", "ms", options)
    case = comparison.Case(f"K = {options.workers}", {})
    with tempfile.TemporaryDirectory(prefix="scavenger_bench_") as folder:
        peer = [sys.executable, pathlib.Path(__file__).parent / "peers" / "torch_save_worker.py", *HIDDEN, BATCH, EVERY, folder]
        with Crew([peer]) as crew:
            crew.run("run 1")
            for _ in range(options.rounds):
                for name, values in durations(run_job(options), options.checkpoints).items():
                    case.values.setdefault(name, []).extend(values)
                seconds = crew.run(f"run {options.checkpoints}")[0]["seconds"]
                case.values.setdefault("torch.save", []).extend(1e3 * value for value in seconds)
    case.facts = {"workers": options.workers, "settings": options.set,
                  "slowest": {name: max(values) for name, values in case.values.items()}}
    report.add(case, [("torch.save / gap", "torch.save", "ours, gap")])
    report.finish()
    print("slowest: " + ", ".join(f"{name} {comparison.number(value)}" for name, value in case.facts["slowest"].items()))


if __name__ == "__main__":
    main()
