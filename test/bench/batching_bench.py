"""Dynamic against even batches on unequal workers: an emulated cluster of this machine, with network, encryption and shares of its processors.

    python3 test/bench/batching_bench.py build/release --out DIR                    # the table of docs/results/dynamic_batching.md
    python3 test/bench/batching_bench.py build/release --out DIR --interference     # one worker throttled to a quarter, then freed

Needs root, control groups of version 1, the data of configs/fashion_mlp.json and configs/mnist_cnn.json, and a quiet machine. Three workers
in the paper's mixes of 39 cores, scaled to --cores in all; even and dynamic runs take turns. Each run is one line of DIR/runs.jsonl; what
is there is not run again, so it can be interrupted. The table of all that is there goes to DIR/table.md.
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

import interference_plot

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import unequal_cluster  # noqa: E402
from unequal_cluster import UnequalJob, cpu_quota  # noqa: E402

# Batches so large that an iteration of the slowest worker is long beside the kernel's clock tick (4 ms, in which a quota is overdrawn).
MODELS = {
    "mlp": ("fashion_mlp", ["batch_size=6144", "optimizer.learning_rate=0.1", "optimizer.schedule=null", "stop.target.value=0.8"]),
    "cnn": ("mnist_cnn", ["batch_size=768", "optimizer.learning_rate=0.02", "model.channels=[8,16]", "model.dense=32", "stop.target.value=0.75"]),
}
COMMON = ["evaluation.every_iterations=5", "stop.max_epochs=20"]
RUN_SECONDS = 300  # the longest
# Of the interference run: as it is, throttled, freed.
INTERFERENCE_SECONDS = (20, 60, 40)
SMOOTHED_SECONDS = 1.0


def to_the_target(build, model, level, total_cores, seed, dynamic):
    """Seconds from the first membership: machines are rented before."""
    config, own = MODELS[model]
    settings = [*own, *COMMON, f"seed={seed}", f"batching.dynamic={json.dumps(dynamic)}"]
    with UnequalJob(build, config, unequal_cluster.cores_of(level, total_cores), settings) as job:
        job.wait(RUN_SECONDS)
        begin, target = job.events("membership")[0]["time"], job.events("target_reached")
        if not target:
            raise RuntimeError(f"{model}, level {level}, seed {seed}: the target was not reached")
        seconds, times = unequal_cluster.last_full_window(job)
        noise = job.report()["noise"]["present"]
        return {"seconds": target[0]["time"] - begin, "iterations": target[0]["iteration"], "metric": target[0]["value"],
                "iteration_seconds": statistics.mean(seconds), "spread": unequal_cluster.spread(times),
                "waiting": unequal_cluster.waiting_share(seconds, times), "adjustments": len(unequal_cluster.adjustments(job)),
                "shares": job.events("membership")[-1]["shares"], "noise_scale": noise["noise_scale"]["value"] if noise else None,
                "evaluation_seconds": sum(event["seconds"] for event in job.events("evaluation") if event["time"] <= target[0]["time"])}


class Runs:
    """Those that were made, in a file."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "runs.jsonl"
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.runs = {self.key(run): run for run in map(json.loads, lines)}

    @staticmethod
    def key(run):
        return run["model"], run["level"], run["seed"], run["dynamic"], run["cores"]

    def add(self, run):
        self.runs[self.key(run)] = run
        with self.path.open("a") as file:
            file.write(json.dumps(run) + "\n")

    def of(self, model, level, dynamic, cores):
        return [run for (*_, total), run in sorted(self.runs.items()) if (run["model"], run["level"], run["dynamic"], total) == (model, level, dynamic, cores)]


def make_missing(arguments, runs):
    wanted = [{"model": model, "level": level, "seed": seed, "dynamic": dynamic, "cores": arguments.cores}
              for seed in range(1, arguments.seeds + 1) for model in arguments.models for level in arguments.levels for dynamic in (False, True)]
    for run in wanted:
        if Runs.key(run) in runs.runs:
            continue
        began = time.monotonic()
        measured = to_the_target(arguments.build, run["model"], run["level"], run["cores"], run["seed"], run["dynamic"])
        runs.add({**run, **measured})
        print(f"{run['model']} level {run['level']} seed {run['seed']} {'dynamic' if run['dynamic'] else 'even'}: {measured['seconds']:.1f} s to the target, "
              f"{measured['iterations']} iterations of {1e3 * measured['iteration_seconds']:.0f} ms, spread {measured['spread']:.2f}, "
              f"shares {measured['shares']} ({time.monotonic() - began:.0f} s)", flush=True)


def table(arguments, runs):
    lines = ["| model | level | seconds to the target, even / dynamic (least to most) | faster | ms an iteration | faster | iterations | waiting | longest / shortest "
             "| adjustments | shares | metric | B_s |", "| --- " * 13 + "|"]
    for model in arguments.models:
        for level in arguments.levels:
            both = [runs.of(model, level, dynamic, arguments.cores) for dynamic in (False, True)]
            if not all(both):
                continue
            middle = lambda key: [statistics.median(run[key] for run in each) for each in both]
            pair = lambda key, format, scale=1: " / ".join(f"{scale * value:{format}}" for value in middle(key))
            ratio = lambda key: middle(key)[0] / middle(key)[1]
            reach = " / ".join(f"{statistics.median(run['seconds'] for run in each):.1f} ({min(run['seconds'] for run in each):.1f} to {max(run['seconds'] for run in each):.1f})" for each in both)
            scales = " / ".join("-" if any(run["noise_scale"] is None for run in each) else f"{statistics.median(run['noise_scale'] for run in each):.0f}" for each in both)
            lines.append(f"| {model} | {level} | {reach} | {ratio('seconds'):.2f} | {pair('iteration_seconds', '.0f', 1e3)} | {ratio('iteration_seconds'):.2f} "
                         f"| {pair('iterations', '.0f')} | {pair('waiting', '.0f', 100)} % | {pair('spread', '.2f')} | {max(run['adjustments'] for run in both[1])} "
                         f"| {', '.join(map(str, both[1][0]['shares']))} | {pair('metric', '.4f')} | {scales} |")
    return "\n".join(lines) + "\n"


def smoothed(series, begin):
    """(time, each worker's own seconds, the iteration's): means over parts of a second."""
    parts = {}
    for event in series:
        left = sum(event["seconds"])
        own = [unequal_cluster.busy(worker) for worker in event["workers"]]
        for i, whole in enumerate(event["seconds"]):
            left -= whole
            when = event["time"] - begin - left
            parts.setdefault(int(when / SMOOTHED_SECONDS), []).append((when, [each[i] for each in own], whole))
    return [(statistics.mean(when for when, _, _ in part), [statistics.mean(values) for values in zip(*(own for _, own, _ in part))],
             statistics.mean(whole for _, _, whole in part)) for _, part in sorted(parts.items())]


def interfere(arguments):
    """One of three equal workers gets a quarter of its processor for a while: DIR/interference.svg and .json."""
    config, own = MODELS[arguments.models[0]]
    cores = unequal_cluster.cores_of(1, arguments.cores)
    endless = ["batching.dynamic=true", "stop.target=null", "stop.max_epochs=100000", "evaluation.every_iterations=1000000"]
    with UnequalJob(arguments.build, config, cores, [*own, "batch_size=3072", *endless]) as job:
        while not job.events("iterations"):
            if job.process.poll() is not None:
                job.wait(1)
            time.sleep(0.1)
        begin, marks = job.events("membership")[0]["time"], []
        for seconds, part, text in zip(INTERFERENCE_SECONDS, (None, cores[1] / 4, cores[1]), ("", "worker 1 throttled to a quarter", "freed")):
            if part is not None:
                last = job.events("iterations")[-1]
                marks.append((last["time"] - begin, last["first"] + last["count"], text))
                job.throttle(1, part)
            time.sleep(seconds)
        job.process.terminate()
        job.wait(60)
        memberships = job.events("membership")
        seconds = smoothed(job.events("iterations"), begin)
    shares = [(event["time"] - begin, event["shares"]) for event in memberships]
    arguments.out.mkdir(parents=True, exist_ok=True)
    plot = interference_plot.draw("One of three equal workers throttled to a quarter of its processor, then freed", shares, seconds,
                                  [(when, text) for when, _, text in marks], seconds[-1][0])
    (arguments.out / "interference.svg").write_text(plot)
    (arguments.out / "interference.json").write_text(json.dumps({"marks": marks, "memberships": memberships, "seconds": seconds}) + "\n")
    for when, iteration, text in marks:
        print(f"{when:6.1f} s, iteration {iteration}: {text}")
    for event in memberships:
        print(f"{event['time'] - begin:6.1f} s, iteration {event['first_iteration']}: {event['shares']} {event['reason']}")


def main():
    words = lambda text: text.split(",")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--models", type=words, default=["mlp", "cnn"])
    parser.add_argument("--levels", type=lambda text: [int(word) for word in words(text)], default=[1, 2, 6, 10])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cores", type=float, default=1.6)
    parser.add_argument("--interference", action="store_true")
    arguments = parser.parse_args()
    if not cpu_quota.can_limit():
        sys.exit("needs root and the cpu controller of cgroup version 1")
    if arguments.interference:
        return interfere(arguments)
    runs = Runs(arguments.out)
    make_missing(arguments, runs)
    (arguments.out / "table.md").write_text(table(arguments, runs))
    print(table(arguments, runs), end="")


if __name__ == "__main__":
    main()
