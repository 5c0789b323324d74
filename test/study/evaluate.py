"""What searching costs and finds, against every fixed configuration: real jobs on an emulated cluster of this machine.

    .venv/bin/python test/study/evaluate.py build/release/bin --out DIR configs/fashion_mlp.json [CONFIG ...]

Needs root (network namespaces) and a quiet machine. Runs each (K, B) of the grid to the target, for each seed: the best of them is
the oracle. Then runs each kind of search from the smallest configuration, with nothing told. Writes DIR/CONFIG.json and prints
the tables of docs/results/evaluation.md. What was run before in DIR is not run again, so it can be interrupted.
"""

import argparse
import concurrent.futures
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from job_log import events  # noqa: E402
from steady_processors import steady_processors  # noqa: E402

PRICE_PER_HOUR = 0.1
POLICIES = {"min-time": lambda run: run["seconds"], "min-cost": lambda run: run["cost"], "knee": lambda run: run["seconds"] * run["cost"]}


def parse():
    numbers = lambda text: [int(part) for part in text.split(",")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("configs", type=pathlib.Path, nargs="+")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--workers", type=numbers, default=[1, 2, 4, 8])
    parser.add_argument("--batch-sizes", type=numbers, default=[64, 128, 256, 512])
    parser.add_argument("--seeds", type=numbers, default=[1])
    parser.add_argument("--fixed-seeds", type=numbers, help="of the fixed configurations, in place of --seeds: every search is then judged "
                        "by the first one's table")
    parser.add_argument("--modes", default="full,partial,adaptive,none,universal")
    parser.add_argument("--policy", choices=POLICIES, default="knee")
    parser.add_argument("--cores", type=float, default=0.2, help="of each emulated machine")
    parser.add_argument("--link-megabits", type=float, default=1000)
    parser.add_argument("--cold-start", type=int, default=100, help="search.cold_start_iterations: a search must be short beside its job")
    parser.add_argument("--target", type=float, help="in place of the configuration's")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of every job's configuration")
    parser.add_argument("--timeout", type=float, default=1200, help="seconds of one job")
    parser.add_argument("--side-by-side", type=int, metavar="MACHINES", help="jobs, searches too, run side by side on so many emulated "
                        "machines in all. Workers that wait for each other lose by it (up to a third of an iteration was seen), unless the "
                        "machines leave much of the processors idle: 12 of 0.1 cores on two")
    parser.add_argument("--counted", type=float, metavar="CORES", help="a fixed configuration is not run to the target. How many "
                        "iterations it needs is counted once for each batch size and seed, on one machine of so many cores, and what "
                        "one takes is measured on its own machines: an oracle of 20 minutes would otherwise take hours")
    parser.add_argument("--timed-iterations", type=int, default=60, help="of each fixed configuration, with --counted")
    arguments = parser.parse_args()
    arguments.fixed_seeds = arguments.fixed_seeds or arguments.seeds
    if arguments.side_by_side and (arguments.side_by_side < max(arguments.workers) or {"none", "universal"} & set(arguments.modes.split(","))):
        parser.error("--side-by-side needs machines for the largest job, and no mode that uses what other jobs have left")
    return arguments


class FreeMachines:
    """How many emulated machines this one has room for."""

    def __init__(self, count):
        self.all = self.count = count
        self.changed = threading.Condition()

    @contextlib.contextmanager
    def taken(self, count):
        with self.changed:
            self.changed.wait_for(lambda: self.count >= count)
            self.count -= count
        try:
            yield
        finally:
            with self.changed:
                self.count += count
                self.changed.notify_all()


class Evaluation:
    def __init__(self, arguments):
        self.arguments = arguments
        arguments.out.mkdir(parents=True, exist_ok=True)
        self.runs = arguments.out / "runs"
        self.machines = FreeMachines(arguments.side_by_side or max(arguments.workers))

    def room(self, workers):
        """While it is held, so many workers may compute: beside others, if they may at all, or if there is nothing to wait for."""
        return self.machines.taken(workers if workers == 1 or self.arguments.side_by_side else self.machines.all)

    def settings(self, seed, cores=None):
        a = self.arguments
        machine = {"type": "small", "cores": cores or a.cores, "link_megabits": a.link_megabits, "price_per_hour": PRICE_PER_HOUR,
                   "start_seconds": 1, "count": max(a.workers)}
        settings = [f"provider={json.dumps({'type': 'emulated', 'machines': [machine]})}", f"seed={seed}", "cluster.threads_per_worker=1",
                    "evaluation.every_epochs=0.25", "checkpoint.every_epochs=1000", f"search.workers={a.workers}",
                    f"search.batch_sizes={a.batch_sizes}", f"search.cold_start_iterations={a.cold_start}"]
        if a.target:
            settings.append(f"stop.target.value={a.target}")
        return [word for setting in settings + a.set for word in ("--set", setting)]

    def run(self, name, config, seed, *more, end="target_reached", cores=None):
        """One job to its end, or what is left of it from before: its report."""
        folder = self.runs / name
        report = folder / "report.json"
        if not (report.exists() and json.loads(report.read_text())["status"] == end):
            shutil.rmtree(folder, ignore_errors=True)
            folder.parent.mkdir(parents=True, exist_ok=True)
            begin = time.monotonic()
            done = subprocess.run([str(self.arguments.programs / "scavenger-train"), str(config), "--quiet", "--run", str(folder),
                                   *self.settings(seed, cores), *map(str, more)], timeout=self.arguments.timeout, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                raise RuntimeError(f"{name} ended with {done.returncode}:\n{done.stdout}")
            print(f"{name}: {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)
        report = json.loads(report.read_text())
        if report["status"] != end:
            raise RuntimeError(f"{name} ended with {report['status']}, not {end}. Raise stop.max_epochs, or lower --target")
        return report

    def summary(self, report):
        last = report["phases"][-1]
        # From the first iteration on: what machines take to start is the same for all.
        seconds = report["totals"]["seconds"] - report["totals"]["start_up_seconds"]
        return {"seconds": seconds, "cost": report["totals"]["cost"], "epochs": report["totals"]["epochs"],
                "last": [last["workers"], last["batch_size"]]}

    def counted(self, config, seed, batch_size):
        """Iterations and evaluations that so large a batch needs to the target, and samples of an epoch."""
        name = f"{config.stem}/seed{seed}/counted_B{batch_size}"
        with self.room(1):
            report = self.run(name, config, seed, "--workers", 1, "--batch-size", batch_size, "--search", "off",
                              cores=self.arguments.counted)
        totals = report["totals"]
        return totals["iterations"], len(events(self.runs / name, "evaluation")), totals["samples"] / totals["epochs"]

    def composed(self, config, seed, workers, batch_size):
        """What the job would take: iterations as counted, each as long as one takes on these machines. No start is in its cost."""
        iterations, evaluations, epoch_samples = self.counted(config, seed, batch_size)
        name, timed = f"{config.stem}/timed/K{workers}_B{batch_size}", self.arguments.timed_iterations
        with self.machines.taken(self.machines.all):
            report = self.run(name, config, self.arguments.fixed_seeds[0], "--workers", workers, "--batch-size", batch_size,
                              "--search", "off", "--set", f"stop.max_iterations={timed}", "--set",
                              f"evaluation.every_epochs={0.75 * timed * batch_size / epoch_samples}", end="max_iterations")
        iteration_seconds = report["configurations"][0]["iteration_seconds"]["mean"]
        evaluation_seconds = events(self.runs / name, "evaluation")[0]["seconds"]
        seconds = iterations * iteration_seconds + evaluations * evaluation_seconds
        return {"workers": workers, "batch_size": batch_size, "iteration_seconds": iteration_seconds,
                "evaluation_seconds": evaluation_seconds, "seconds": seconds,
                "cost": workers * PRICE_PER_HOUR * seconds / 3600, "epochs": iterations * batch_size / epoch_samples,
                "last": [workers, batch_size]}

    def fixed(self, config, seed, workers, batch_size):
        if self.arguments.counted:
            return self.composed(config, seed, workers, batch_size)
        with self.room(workers):
            report = self.run(f"{config.stem}/seed{seed}/K{workers}_B{batch_size}", config, seed, "--workers", workers, "--batch-size", batch_size,
                              "--search", "off")
        measured = report["configurations"][0]["iteration_seconds"]["mean"]
        return {"workers": workers, "batch_size": batch_size, "iteration_seconds": measured, **self.summary(report)}

    def search(self, config, seed, mode, store):
        a = self.arguments
        more = ["--set", f"model_store.path={store.resolve()}"] if store else []
        with self.room(max(a.workers)):
            name = f"{config.stem}/seed{seed}/{mode}_{a.policy}"
            report = self.run(name, config, seed, "--workers", min(a.workers), "--batch-size",
                              min(a.batch_sizes), "--search", mode, "--policy", a.policy, *more)
        steps = report["search_steps"]["latest"]
        return {"mode": mode, "folder": str(self.runs / name), **self.summary(report),
                "settled": bool(steps) and steps[-1]["phase"] == "settled", "steps": [step["reason"] for step in steps],
                "prediction": report["prediction"]}


def prediction_error(prediction, table):
    """Of seconds per iteration of configurations that the search had not measured, against the fixed runs."""
    actual = {(run["workers"], run["batch_size"]): run["iteration_seconds"] for run in table}
    pairs = [(one, actual[one["workers"], one["batch_size"]]) for one in (prediction or {}).get("candidates", [])
             if (one["workers"], one["batch_size"]) in actual]
    # Other jobs' mean says how seconds grow from the first candidate on, not what they are.
    is_mean = prediction and prediction["time_form"].startswith("mean of")
    unit = pairs[0][1] / pairs[0][0]["iteration_seconds"] if is_mean else 1
    errors = [abs(unit * one["iteration_seconds"] / seconds - 1) for one, seconds in pairs if not one["measured"]]
    return statistics.mean(errors) if errors else None


def at_pace_of(folder, table):
    """Seconds and cost of a job, had its iterations and evaluations taken as long as the table says: the pace of a virtual machine
    may drift by a half in an hour, and a search is not to be judged by that. Moves and looks keep their own seconds."""
    by_configuration = {(one["workers"], one["batch_size"]): one for one in table}
    report, evaluations = json.loads((folder / "report.json").read_text()), events(folder, "evaluation")
    seconds, cost = 0.0, 0.0
    for phase in report["phases"]:
        at = by_configuration[phase["workers"], phase["batch_size"]]
        own = [one["seconds"] for one in evaluations if 0 <= one["time"] - phase["begin_time"] < phase["seconds"]]
        timed = phase["iterations"] if phase["iteration_seconds"]["count"] else 0  # not in a look that was broken off at once
        paced = (phase["seconds"] + timed * (at["iteration_seconds"] - phase["iteration_seconds"]["mean"])
                 + len(own) * at["evaluation_seconds"] - sum(own))
        seconds += paced
        cost += phase["cost"] * paced / phase["seconds"] if phase["seconds"] else 0.0
    return seconds, cost


def judge(search, table, policy):
    objective = POLICIES[policy]
    oracle = min(table, key=objective)
    if "evaluation_seconds" in oracle:
        seconds, cost = at_pace_of(pathlib.Path(search["folder"]), table)
        search = {**search, "own_seconds": search["seconds"], "own_cost": search["cost"], "seconds": seconds, "cost": cost}
    chosen = next((run for run in table if [run["workers"], run["batch_size"]] == search["last"]), None)
    return {**search, "oracle": [oracle["workers"], oracle["batch_size"]],
            "regret": objective(chosen) / objective(oracle) - 1 if chosen and search["settled"] else None,
            "time_over_oracle": search["seconds"] / oracle["seconds"] - 1, "cost_over_oracle": search["cost"] / oracle["cost"] - 1,
            "times_faster_than_slowest": max(run["seconds"] for run in table) / search["seconds"],
            "cheaper_than_dearest": 1 - search["cost"] / max(run["cost"] for run in table),
            "prediction_error": prediction_error(search["prediction"], table)}


def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def mean_of(runs, *keys):
    return {**runs[0], **{key: statistics.mean(run[key] for run in runs) for key in keys}}


def show(name, tables, judged, policy):
    print(f"\n### {name}\n\n| K | B | s/iteration | epochs | seconds | cost |\n| --- | --- | --- | --- | --- | --- |")
    means = [mean_of(runs, "iteration_seconds", "epochs", "seconds", "cost") for runs in zip(*tables)]
    for one in means:
        print(f"| {one['workers']} | {one['batch_size']} | {one['iteration_seconds']:.4f} | {one['epochs']:.2f} | {one['seconds']:.1f} | "
              f"${one['cost']:.5f} |")
    print("\n| search | seed | ended at (K, B) | oracle | regret | time over oracle | cost over oracle | faster than the slowest | "
          "cheaper than the dearest | error of unmeasured s/iteration |\n" + "| --- " * 10 + "|")
    for one in judged:
        end = f"{tuple(one['last'])}" if one["settled"] else "still measuring"
        print(f"| {one['mode']} | {one['seed']} | {end} | {tuple(one['oracle'])} | {percent(one['regret'])} | "
              f"{percent(one['time_over_oracle'])} | {percent(one['cost_over_oracle'])} | {one['times_faster_than_slowest']:.1f}x | "
              f"{percent(one['cheaper_than_dearest'])} | {percent(one['prediction_error'])} |")

    # When a job first reaches its target is chance to a good part: seeds are judged together, too.
    oracle = min(means, key=POLICIES[policy])
    for mode in dict.fromkeys(one["mode"] for one in judged):
        mean = mean_of([one for one in judged if one["mode"] == mode], "seconds", "cost")
        ratios = [mean[key] / oracle[key] for key in ("seconds", "cost")]
        print(f"{mode}, mean of the seeds: {mean['seconds']:.1f} s, ${mean['cost']:.5f}, which is {ratios[0]:.2f} x the time and "
              f"{ratios[1]:.2f} x the cost of {tuple(oracle['last'])}, the best of the mean table")
    own = [f"{one['mode']}, seed {one['seed']} {one['own_seconds']:.1f} s, ${one['own_cost']:.5f}" for one in judged if "own_seconds" in one]
    if own:
        print("All at the table's pace. At their own: " + "; ".join(own))


def main():
    arguments = parse()
    with steady_processors():
        run_all(arguments)


def run_all(arguments):
    evaluation = Evaluation(arguments)
    modes = arguments.modes.split(",")
    grid = [(workers, batch_size) for workers in arguments.workers for batch_size in arguments.batch_sizes]
    for config in arguments.configs:
        if arguments.counted:
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(lambda at: evaluation.counted(config, *at),
                              itertools.product(arguments.fixed_seeds, arguments.batch_sizes)))
        with concurrent.futures.ThreadPoolExecutor(evaluation.machines.all) as pool:
            fixed = {seed: [pool.submit(evaluation.fixed, config, seed, *at) for at in grid]
                     for seed in arguments.fixed_seeds}
            if arguments.side_by_side:
                for seed in arguments.seeds:
                    for mode in modes:
                        pool.submit(evaluation.search, config, seed, mode, None)
        tables, judged = {seed: [one.result() for one in rows] for seed, rows in fixed.items()}, []
        for seed in arguments.seeds:
            table = tables.get(seed) or next(iter(tables.values()))
            own = arguments.out / f"{config.stem}_seed{seed}.db"
            for mode in modes:
                # A full search fills the store that "none" chooses from; "universal" has what the other models have left.
                store = own if mode in ("full", "none") else arguments.out / "all.db" if mode == "universal" else None
                if mode == "universal":
                    others = [other for other in arguments.out.glob("*_seed*.db") if model_of(other) != config.stem]
                    if len(set(map(model_of, others))) < 2:
                        print(f"{config.stem}: a universal search needs the stores of two other models", file=sys.stderr)
                        continue
                    merge(arguments.programs, others, store)
                judged.append({"seed": seed, **judge(evaluation.search(config, seed, mode, store), table, arguments.policy)})
        show(config.stem, list(tables.values()), judged, arguments.policy)
        (arguments.out / f"{config.stem}.json").write_text(json.dumps({"fixed": list(tables.values()), "searches": judged}, indent=1))


def model_of(store):
    return store.stem.rpartition("_seed")[0]


def merge(programs, stores, into):
    into.unlink(missing_ok=True)
    plan = str(programs / "scavenger-plan")
    for store in stores:
        listed = subprocess.run([plan, "list", "--store", str(store)], check=True, text=True, stdout=subprocess.PIPE).stdout
        for line in listed.splitlines()[1:]:
            export = into.with_suffix(".export.json")
            export.write_text(subprocess.run([plan, "export", line.split()[0], "--store", str(store)], check=True, text=True,
                                             stdout=subprocess.PIPE).stdout)
            subprocess.run([plan, "record", str(export), "--store", str(into)], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
