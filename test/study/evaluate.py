"""What searching costs and finds, against every fixed configuration: real jobs on an emulated cluster of this machine.

    .venv/bin/python test/study/evaluate.py build/release/bin --out DIR configs/fashion_mlp.json [CONFIG ...]

Needs root (network namespaces) and a quiet machine. Runs each (K, B) of the grid to the target, for each seed: the best of them is
the oracle. Then runs each kind of search from the smallest configuration, with nothing told. Writes DIR/CONFIG.json and prints
the tables of docs/results/evaluation.md. What was run before in DIR is not run again, so it can be interrupted.
"""

import argparse
import concurrent.futures
import contextlib
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from steady_processors import steady_processors  # noqa: E402

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
    arguments = parser.parse_args()
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

    def settings(self, seed):
        a = self.arguments
        machine = {"type": "small", "cores": a.cores, "link_megabits": a.link_megabits, "price_per_hour": 0.1, "start_seconds": 1,
                   "count": max(a.workers)}
        settings = [f"provider={json.dumps({'type': 'emulated', 'machines': [machine]})}", f"seed={seed}", "cluster.threads_per_worker=1",
                    "evaluation.every_epochs=0.25", "checkpoint.every_epochs=1000", f"search.workers={a.workers}",
                    f"search.batch_sizes={a.batch_sizes}", f"search.cold_start_iterations={a.cold_start}"]
        if a.target:
            settings.append(f"stop.target.value={a.target}")
        return [word for setting in settings + a.set for word in ("--set", setting)]

    def run(self, name, config, seed, *more):
        """One job to its end, or what is left of it from before: its report."""
        folder = self.runs / name
        report = folder / "report.json"
        if not (report.exists() and json.loads(report.read_text())["status"] == "target_reached"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.parent.mkdir(parents=True, exist_ok=True)
            begin = time.monotonic()
            done = subprocess.run([str(self.arguments.programs / "scavenger-train"), str(config), "--quiet", "--run", str(folder),
                                   *self.settings(seed), *map(str, more)], timeout=self.arguments.timeout, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                raise RuntimeError(f"{name} ended with {done.returncode}:\n{done.stdout}")
            print(f"{name}: {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)
        report = json.loads(report.read_text())
        if report["status"] != "target_reached":
            raise RuntimeError(f"{name} did not reach its target: {report['status']}. Raise stop.max_epochs, or lower --target")
        return report

    def summary(self, report):
        last = report["phases"][-1]
        # From the first iteration on: what machines take to start is the same for all.
        seconds = report["totals"]["seconds"] - report["totals"]["start_up_seconds"]
        return {"seconds": seconds, "cost": report["totals"]["cost"], "epochs": report["totals"]["epochs"],
                "last": [last["workers"], last["batch_size"]]}

    def fixed(self, config, seed, workers, batch_size):
        with self.room(workers):
            report = self.run(f"{config.stem}/seed{seed}/K{workers}_B{batch_size}", config, seed, "--workers", workers, "--batch-size", batch_size,
                              "--search", "off")
        measured = report["configurations"][0]["iteration_seconds"]["mean"]
        return {"workers": workers, "batch_size": batch_size, "iteration_seconds": measured, **self.summary(report)}

    def search(self, config, seed, mode, store):
        a = self.arguments
        more = ["--set", f"model_store.path={store.resolve()}"] if store else []
        with self.room(max(a.workers)):
            report = self.run(f"{config.stem}/seed{seed}/{mode}_{a.policy}", config, seed, "--workers", min(a.workers), "--batch-size",
                              min(a.batch_sizes), "--search", mode, "--policy", a.policy, *more)
        steps = report["search_steps"]["latest"]
        return {"mode": mode, **self.summary(report), "settled": bool(steps) and steps[-1]["phase"] == "settled",
                "steps": [step["reason"] for step in steps], "prediction": report["prediction"]}


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


def judge(search, table, policy):
    objective = POLICIES[policy]
    oracle = min(table, key=objective)
    chosen = next((run for run in table if [run["workers"], run["batch_size"]] == search["last"]), None)
    return {**search, "oracle": [oracle["workers"], oracle["batch_size"]],
            "regret": objective(chosen) / objective(oracle) - 1 if chosen and search["settled"] else None,
            "time_over_oracle": search["seconds"] / oracle["seconds"] - 1, "cost_over_oracle": search["cost"] / oracle["cost"] - 1,
            "times_faster_than_slowest": max(run["seconds"] for run in table) / search["seconds"],
            "cheaper_than_dearest": 1 - search["cost"] / max(run["cost"] for run in table),
            "prediction_error": prediction_error(search["prediction"], table)}


def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def show(name, tables, judged):
    print(f"\n### {name}\n\n| K | B | s/iteration | epochs | seconds | cost |\n| --- | --- | --- | --- | --- | --- |")
    for runs in zip(*tables):
        mean = lambda key: statistics.mean(run[key] for run in runs)
        print(f"| {runs[0]['workers']} | {runs[0]['batch_size']} | {mean('iteration_seconds'):.4f} | {mean('epochs'):.2f} | "
              f"{mean('seconds'):.1f} | ${mean('cost'):.5f} |")
    print("\n| search | seed | ended at (K, B) | oracle | regret | time over oracle | cost over oracle | faster than the slowest | "
          "cheaper than the dearest | error of unmeasured s/iteration |\n" + "| --- " * 10 + "|")
    for one in judged:
        end = f"{tuple(one['last'])}" if one["settled"] else "still measuring"
        print(f"| {one['mode']} | {one['seed']} | {end} | {tuple(one['oracle'])} | {percent(one['regret'])} | "
              f"{percent(one['time_over_oracle'])} | {percent(one['cost_over_oracle'])} | {one['times_faster_than_slowest']:.1f}x | "
              f"{percent(one['cheaper_than_dearest'])} | {percent(one['prediction_error'])} |")


def main():
    arguments = parse()
    with steady_processors():
        run_all(arguments)


def run_all(arguments):
    evaluation = Evaluation(arguments)
    modes = arguments.modes.split(",")
    grid = [(workers, batch_size) for workers in arguments.workers for batch_size in arguments.batch_sizes]
    for config in arguments.configs:
        with concurrent.futures.ThreadPoolExecutor(evaluation.machines.all) as pool:
            fixed = {seed: [pool.submit(evaluation.fixed, config, seed, *at) for at in grid]
                     for seed in arguments.fixed_seeds or arguments.seeds}
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
        show(config.stem, list(tables.values()), judged)
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
