"""What each kind of search would find and cost on clusters of up to 64 workers, in simulation.

    .venv/bin/python test/study/simulate.py build/release/bin [--seeds 50] [--policy min-time min-cost knee]

The truth are tables of every (K, B):

  short, long     K = 1 to 64 machines with one worker each, B = 128 to 4096; laws drawn at random and not of the form that is
                  fitted: synchronisation grows as a power of K and overlaps with compute by a p-norm (AdaptDL's), and each
                  configuration departs from its law by 3 %; epochs rise with B by a noise scale of 200 to 5000

and, where the developers' shared folder (SCAVENGER_SHARED_DATA) has them, tables that other people measured:

  cifar10, bert   Pollux's: nodes with 4 GPUs each, K = 1 to 64 of them; seconds per step at each number of GPUs, of the
                  placement with the fewest nodes, between the measured batches on a line; epochs to a metric and noise
                  from its traces at each B
  ResNet18, 50    the Scavenger paper's: K = 8, 12, 16 CPU VMs

A search sees a table only through noisy measurements (5 % scatter of an iteration); "none" has the job's own stored model, and
"universal" the mean of the others of its kind. Prints the tables of docs/results/evaluation.md.
"""

import argparse
import ast
import bisect
import csv
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("SCAVENGER_SHARED_DATA", SOURCE.parent / "shared" / "data"))
WORKERS = [1, 2, 4, 8, 16, 32, 64]
# Samples of an epoch, the metric that counts as reached, batch sizes that traces exist of.
POLLUX = {"cifar10": (50000, 0.9, [128, 256, 512, 1024, 2048, 4096]), "bert": (88000, 87.5, [12, 24, 48, 96, 192, 384])}


def rows_of(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def step_seconds(folder):
    """K -> [(b, seconds)], of the fewest nodes that hold K workers; means over repeated measurements."""
    seen = {}
    for row in rows_of(folder / "placements.csv"):
        nodes, workers = len(row["placement"]), sum(map(int, row["placement"]))
        seen.setdefault((workers, nodes, int(row["local_bsz"])), []).append(float(row["step_time"]))
    for row in rows_of(folder / "scalability.csv"):
        key = int(row["num_replicas"]), int(row["num_nodes"]), int(row["local_bsz"])
        seen.setdefault(key, []).append(float(row["step_time"]))
    table = {}
    for workers in WORKERS:
        fewest = min(nodes for k, nodes, _ in seen if k == workers)
        table[workers] = sorted((b, sum(values) / len(values)) for (k, nodes, b), values in seen.items()
                                if k == workers and nodes == fewest)
    return table


def between(points, b):
    """Nothing beyond what was measured."""
    if not points[0][0] <= b <= points[-1][0]:
        return None
    right = max(1, bisect.bisect_left([x for x, _ in points], b))
    (x0, y0), (x1, y1) = points[right - 1], points[right]
    return y0 + (y1 - y0) * (b - x0) / (x1 - x0)


def trace(folder, batch_size, samples, metric):
    """Epochs until the metric was reached, and B_s: the means' ratio until then."""
    rows = rows_of(folder / f"validation-{batch_size}.csv")
    reached = next(i for i, row in enumerate(rows) if float(row["metric"]) >= metric)
    seen = rows[:reached + 1]
    noise_scale = sum(float(row["grad_var"]) for row in seen) / sum(float(row["grad_sqr"]) for row in seen)
    return (int(rows[reached]["iteration"]) + 1) * batch_size / samples, noise_scale * min(POLLUX[folder.name][2])


def normalised_noise(noise_scale, workers, batch_size):
    return (1 + noise_scale * workers / batch_size) / (1 + noise_scale / batch_size) / workers


def pollux_table(name, path):
    samples, metric, batch_sizes = POLLUX[name]
    folder = DATA / "pollux" / name
    seconds = step_seconds(folder)
    with open(path, "w") as out:
        print("workers,batch_size,iteration_seconds,epochs,noise", file=out)
        for batch_size in batch_sizes:
            epochs, noise_scale = trace(folder, batch_size, samples, metric)
            for workers in WORKERS:
                measured = between(seconds[workers], batch_size / workers)
                if measured is None:
                    continue
                write(out, workers, batch_size, measured, epochs, noise_scale)
    return samples


def write(out, workers, batch_size, seconds, epochs, noise_scale):
    print(f"{workers},{batch_size},{seconds},{epochs},{normalised_noise(noise_scale, workers, batch_size)}", file=out)


def law_table(number, path, epochs):
    """`epochs`: that the job takes with the smallest batches."""
    draw = random.Random(number)
    per_sample = 10 ** draw.uniform(-3.3, -2.3)
    fixed = per_sample * draw.uniform(2, 20)
    sync, power = per_sample * 10 ** draw.uniform(0.5, 1.7), draw.uniform(0.2, 0.8)
    overlap, noise_scale = draw.uniform(1, 2), 10 ** draw.uniform(2.3, 3.7)
    with open(path, "w") as out:
        print("workers,batch_size,iteration_seconds,epochs,noise", file=out)
        for workers in WORKERS:
            for batch_size in (128, 256, 512, 1024, 2048, 4096):
                compute = fixed + per_sample * batch_size / workers
                waits = sync * workers ** power if workers > 1 else 0
                seconds = (compute ** overlap + waits ** overlap) ** (1 / overlap) * draw.lognormvariate(0, 0.03)
                write(out, workers, batch_size, seconds, epochs * (1 + batch_size / noise_scale), noise_scale)
    return 50000


def paper_table(name, path):
    with open(path, "w") as out:
        print("workers,batch_size,iteration_seconds,epochs,noise", file=out)
        for row in rows_of(DATA / "scavenger_paper" / "figure_points.csv"):
            if row["model"] == name and row["epochs_to_target"]:
                print(f"{row['K']},{row['B']},{row['tau_strong_derived_s']},{row['epochs_to_target']},{row['noise_normalised']}", file=out)
    return 50000


def plan(programs, *words):
    return subprocess.run([str(programs / "scavenger-plan"), *map(str, words)], check=True, text=True, stdout=subprocess.PIPE).stdout


PERCENT = ("regret", "worst", "time", "cost")


def simulate(programs, table, samples, store, policy, options):
    """Mode -> what its line says, in per cent."""
    text = plan(programs, table, "--samples", samples, "--store", store, "--simulate", "--policy", policy, "--price", 0.13, "--exact-billing",
                "--seeds", options.seeds, "--resize-seconds", options.resize_seconds, "--cold-start", 500)
    jobs = {}
    for row in rows_of(table):
        seconds = float(row["epochs"]) * samples / int(row["batch_size"]) * float(row["iteration_seconds"])
        jobs[int(row["workers"]), int(row["batch_size"])] = seconds, seconds * int(row["workers"])
    found = {}
    for line in text.splitlines()[2:]:
        words = line.split()
        one = {"measured": float(words[1]), **{key: float(value.rstrip("%")) for key, value in zip(PERCENT, words[2:6])}}
        seconds, cost = jobs[ast.literal_eval(" ".join(words[6:]))]  # at the oracle
        one["hours"] = seconds / 3600
        one["faster"] = max(job[0] for job in jobs.values()) / (seconds * (1 + one["time"] / 100))
        one["cheaper"] = 100 * (1 - cost * (1 + one["cost"] / 100) / max(job[1] for job in jobs.values()))
        found[words[0]] = one
    return found


def show(name, policy, outcomes):
    """Outcomes of one or more jobs: their mean; of the worst regret, the worst."""
    for mode in outcomes[0]:
        mean = {key: statistics.mean(one[mode][key] for one in outcomes) for key in outcomes[0][mode]}
        worst = max(one[mode]["worst"] for one in outcomes)
        print(f"| {name} | {policy} | {mean['hours']:.1f} | {mode} | {mean['measured']:.1f} | {mean['regret']:.1f} % | {worst:.1f} % | "
              f"{mean['time']:.1f} % | {mean['cost']:.1f} % | {mean['faster']:.1f}x | {mean['cheaper']:.0f} % |", flush=True)


def tables(folder, clusters):
    """Of each kind: job -> samples of an epoch."""
    kinds = {}
    for name, epochs in (("short", 40), ("long", 400)):
        kinds[name] = {f"{name}_{number}": law_table(number, folder / f"{name}_{number}.csv", epochs) for number in range(1, clusters + 1)}
    if (DATA / "pollux").exists():
        kinds["Pollux"] = {name: pollux_table(name, folder / f"{name}.csv") for name in POLLUX}
        kinds["paper"] = {name: paper_table(name, folder / f"{name}.csv") for name in ("ResNet18", "ResNet50")}
    else:
        print(f"no tables of other people: {DATA} is not there", file=sys.stderr)
    return kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=5, help="of the measurements of each job")
    parser.add_argument("--clusters", type=int, default=20, help="drawn at random")
    parser.add_argument("--policy", nargs="+", default=["min-time", "min-cost", "knee"])
    parser.add_argument("--resize-seconds", type=float, default=1.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        print("| job | policy | oracle's hours | search | measured | regret | worst | time over the oracle's | cost over the oracle's | "
              "faster than the slowest | cheaper than the dearest |\n" + "| --- " * 11 + "|")
        for kind, jobs in tables(folder, options.clusters).items():
            store = folder / f"{kind}.db"
            for name, samples in jobs.items():
                plan(options.programs, "record", folder / f"{name}.csv", "--samples", samples, "--store", store)
            for policy in options.policy:
                outcomes = {name: simulate(options.programs, folder / f"{name}.csv", samples, store, policy, options)
                            for name, samples in jobs.items()}
                if kind in ("short", "long"):
                    show(f"{len(outcomes)} {kind} ones", policy, list(outcomes.values()))
                else:
                    for name, outcome in outcomes.items():
                        show(name, policy, [outcome])


if __name__ == "__main__":
    main()
