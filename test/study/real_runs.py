#!/usr/bin/env python3
"""Trains at many (K, B), and sets what scavenger-plan predicts from some of the runs beside what the others measured.

    test/study/real_runs.py build/release/bin --out DIR            the long one (an hour; root, on a quiet machine)
    test/study/real_runs.py build/release/bin --quick              that everything works, in seconds

The long one emulates a machine per worker (docs/providers.md): workers that share cores would slow each other as K grows, which
no cluster does. Runs that are in DIR already are not made again, so an interrupted series goes on. Where this is a virtual machine, no
run begins while others take its processors' time, and one that they disturbed is made again. The tables go to DIR/tables.md.
"""

import argparse
import csv
import json
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test" / "support"))
import steady_processors  # noqa: E402
import stolen_time  # noqa: E402
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")

# Targets lie in the steep part of the curves: further on epochs to target are chance. Four emulated machines, shards and controller
# leave some of two cores free, or they would slow each other as K grows.
JOBS = {
    "mlp": {"config": "fashion_mlp.json", "target": 0.85, "every": 1 / 8, "noise_epochs": 4, "cores": 0.45,
            "set": ['model={"type":"mlp","hidden":[256,256]}', "optimizer.learning_rate=0.01",
                    'optimizer.schedule={"type":"constant"}']},
    "cnn": {"config": "fashion_mlp.json", "target": 0.83, "every": 1 / 8, "noise_epochs": 2, "cores": 0.2,
            "set": ['model={"type":"cnn","channels":[4,8],"dense":32}', "optimizer.learning_rate=0.02",
                    'optimizer.schedule={"type":"constant"}']},
}
QUICK = {"synthetic": {"config": "synthetic_mlp.json", "target": 0.8, "every": 1 / 4, "noise_epochs": 4,
                       "set": ["optimizer.learning_rate=0.05"]}}
MOST_STOLEN = 0.01  # share of processor time that other virtual machines may take during a run whose seconds count
PAPER_HOURS = 6.5  # of Scavenger's ResNet18 at its best configuration


class Series:
    """All runs of one job, and the table that they make."""

    def __init__(self, programs, folder, name, job, workers, batches, seeds, max_epochs, provider=None, prefix=()):
        self.provider, self.prefix = provider or {"type": "local"}, list(prefix)
        self.programs, self.folder, self.name, self.job = programs, folder / name, name, job
        self.workers, self.batches, self.seeds, self.max_epochs = workers, batches, seeds, max_epochs
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rows, self.scales = [], {}  # one row per run to the target; noise scales by (K, B)

    def each(self):
        return [(workers, batch, seed) for seed in self.seeds for batch in self.batches for workers in self.workers]

    def run_to_targets(self):
        self.rows = [self.run_to_target(*one) for one in self.each()]

    def measure_noise(self):
        for workers, batch, seed in self.each():
            self.scales.setdefault((workers, batch), []).append(self.noise_scale_of(workers, batch, seed))

    def train(self, name, workers, batch, seed, *sets, prefix=()):
        """The report of a run: made now, or by an earlier call."""
        run = self.folder / f"{name}K{workers}_B{batch}_seed{seed}"
        report = run / "report.json"
        if not report.exists() or json.loads(report.read_text())["status"] == "running":
            shutil.rmtree(run, ignore_errors=True)
            command = [*prefix, self.programs / "scavenger-train", SOURCE / "configs" / self.job["config"], "--workers", workers,
                       "--batch-size", batch, "--quiet", "--run", run]
            for one in [*self.job["set"], *sets, f"seed={seed}", "checkpoint.every_epochs=1000", "cluster.threads_per_worker=1"]:
                command += ["--set", one]
            done = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                sys.exit(f"{run}: {done.stdout}")
            shutil.rmtree(run / "checkpoints", ignore_errors=True)
        return json.loads(report.read_text())

    def run_to_target(self, workers, batch, seed):
        """Made again for as long as other virtual machines disturb it; an emulated cluster only, for its seconds are looked at."""
        watches = self.provider["type"] == "emulated"
        done = self.folder / f"K{workers}_B{batch}_seed{seed}" / "undisturbed"
        while watches and not done.exists():
            shutil.rmtree(done.parent, ignore_errors=True)
            stolen_time.wait_until_undisturbed(MOST_STOLEN)
            stolen = stolen_time.StolenTime()
            report = self.train_to_target(workers, batch, seed)
            if (share := stolen.share()) <= MOST_STOLEN:
                done.touch()
            print(f"K = {workers}, B = {batch}, seed {seed}: {report['totals']['seconds']:.1f} s, {100 * share:.1f} % stolen", flush=True)
        return self.row_of(self.train_to_target(workers, batch, seed), workers, batch, seed)

    def train_to_target(self, workers, batch, seed):
        stop = {"target": {"metric": "accuracy", "value": self.job["target"]}, "max_epochs": self.max_epochs}
        return self.train("", workers, batch, seed, f"stop={json.dumps(stop)}", f"provider={json.dumps(self.provider)}",
                          f"evaluation.every_epochs={self.job['every']}", prefix=self.prefix)

    def noise_scale_of(self, workers, batch, seed):
        """After a fixed number of epochs: with one seed and B, all K train on the same samples in the same order. One worker learns
        its noise from half batches, of which it takes as many here as iterations: by default they may cost 0.8 % of its time."""
        stop = {"max_epochs": self.job["noise_epochs"]}
        report = self.train("noise_", workers, batch, seed, f"stop={json.dumps(stop)}", "noise.half_batch_share=0.5")
        return report["noise"]["present"]["noise_scale"]["value"]

    def row_of(self, report, workers, batch, seed):
        seconds = report["configurations"][0]["iteration_seconds"]
        noise = report["noise"]["present"]
        curve = next(split for split in report["splits"] if split["split"] == "test")["accuracy"]
        epochs = crossing(curve["epoch"], curve["mean"], self.job["target"])
        samples = report["environment"]["samples_per_epoch"]
        return {"job": f"seed{seed}_K{workers}_B{batch}", "workers": workers, "batch_size": batch, "seed": seed,
                "iteration_seconds": seconds["robust_mean"], "standard_error": seconds["robust_standard_error"],
                "iterations": seconds["count"], "epochs": epochs, "samples": samples,
                "seconds": None if epochs is None else epochs * samples / batch * seconds["mean"],
                "noise_scale": noise and noise["noise_scale"]["value"]}

    # ---- What scavenger-plan makes of some of the rows. ----

    def table(self, rows, name):
        columns = ["job", "workers", "batch_size", "iteration_seconds", "standard_error", "iterations", "epochs",
                   "noise_scale"]
        table = self.folder / f"{name}.csv"
        with open(table, "w", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in rows)
        return table

    def scavenger_plan(self, table, samples, *more):
        command = [self.programs / "scavenger-plan", table, "--samples", samples, "--price", 1, *more]
        done = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            sys.exit(f"{table}: {done.stderr}")
        return done.stdout

    def plan(self, rows, name):
        plan = json.loads(self.scavenger_plan(self.table(rows, name), self.samples(), "--json",
                                              "--workers", ",".join(map(str, self.workers)),
                                              "--batch-sizes", ",".join(map(str, self.batches))))
        return plan, {(row["workers"], row["batch_size"]): row for row in plan["rows"]}

    def samples(self):
        return self.rows[0]["samples"]

    def simulated_searches(self):
        """Of a job that is like this one, but as long as those of the papers."""
        times = [self.measured((k, b), "seconds") for k in self.workers for b in self.batches]
        longer = PAPER_HOURS * 3600 / min(time for time in times if time)
        table = self.table(self.rows, "all")
        return [self.scavenger_plan(table, self.samples() * longer, "--simulate", "--seeds", 20, "--exact-billing", "--policy", policy)
                for policy in ("min-time", "min-cost", "knee")]

    def measured(self, key, value):
        return mean_of_known(row[value] for row in self.rows if (row["workers"], row["batch_size"]) == key)

    def without_time(self, rows):
        return [{**row, "iteration_seconds": None, "standard_error": None} for row in rows]

    def compare(self):
        """Per configuration: measured, and as predicted from all, without it, and from the four corners (a full and a partial search)."""
        keys = [(k, b) for k in self.workers for b in self.batches]
        corners = [(k, b) for k in (self.workers[0], self.workers[-1]) for b in (self.batches[0], self.batches[-1])]
        at = lambda row: (row["workers"], row["batch_size"])
        corner_rows = [row for row in self.rows if at(row) in corners]
        rest_without_time = self.without_time(row for row in self.rows if at(row) not in corners)
        partial_plan, partial = self.plan(corner_rows + rest_without_time, "partial")
        _, fitted = self.plan(self.rows, "all")
        lines = []
        for key in keys:
            # Neither the seconds of this configuration nor any epochs at this batch size are known.
            rest = [{**row, "epochs": None, "seconds": None} if row["batch_size"] == key[1] else row
                    for row in self.rows if at(row) != key]
            plan, without = self.plan(rest, f"without_K{key[0]}_B{key[1]}")
            lines.append({"key": key, "is_corner": key in corners,
                          "seconds": self.measured(key, "iteration_seconds"), "epochs": self.measured(key, "epochs"),
                          "time": self.measured(key, "seconds"),
                          "fitted": fitted[key]["iteration_seconds"]["value"],
                          "held_out": without[key]["iteration_seconds"]["value"],
                          "partial": partial[key]["iteration_seconds"]["value"],
                          "epochs_held_out": without[key]["epochs"]["value"],
                          "time_held_out": without[key]["seconds"]["value"], "form": plan["statistical_model"]["form"]})
        return lines

    def noise_by_batch(self):
        """Per batch size: the mean noise scale at each K, and their largest ratio."""
        result = {}
        for batch in self.batches:
            scales = {k: mean_of_known(self.scales[k, batch]) for k in self.workers}
            known = [scale for scale in scales.values() if scale]
            result[batch] = (scales, max(known) / min(known) - 1 if len(known) > 1 else None)
        return result

    def spread_between_seeds(self, batch):
        values = [row["epochs"] for row in self.rows if row["batch_size"] == batch and row["epochs"] is not None]
        return statistics.stdev(values) / statistics.fmean(values) if len(values) > 1 else 0.0


def emulated_cluster(cores, count):
    return {"type": "emulated", "machines": [{"type": "small", "cores": cores, "link_megabits": 1000, "price_per_hour": 0.1,
                                              "start_seconds": 0.1, "count": count}]}


def crossing(epochs, values, goal):
    """Where the curve first passes the goal, between two evaluations; None where it never does."""
    before = (0.0, 0.0)
    for point in zip(epochs, values):
        if point[1] is not None and point[1] >= goal:
            share = (goal - before[1]) / (point[1] - before[1])
            return before[0] + share * (point[0] - before[0]) if before[0] > 0 else point[0]
        before = point
    return None


def mean_of_known(values):
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def off(predicted, measured):
    return None if measured is None else predicted / measured - 1


def percent(value):
    return "-" if value is None else f"{100 * value:+.1f} %"


def number(value, digits=4):
    return "-" if value is None else f"{value:.{digits}g}"


def mean_error(errors):
    known = [abs(error) for error in errors if error is not None]
    return f"{100 * statistics.fmean(known):.1f} %" if known else "-"


def tables(series):
    lines = series.compare()
    text = [f"## {series.name}", "",
            "| K | B | s/iteration | from all | held out | corners only | epochs | held out | between seeds | time, s | held out | model |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for line in lines:
        k, b = line["key"]
        text.append(f"| {k} | {b} | {number(line['seconds'])} | {percent(off(line['fitted'], line['seconds']))} | "
                    f"{percent(off(line['held_out'], line['seconds']))} | "
                    f"{'fitted' if line['is_corner'] else percent(off(line['partial'], line['seconds']))} | "
                    f"{number(line['epochs'], 3)} | {percent(off(line['epochs_held_out'], line['epochs']))} | "
                    f"{100 * series.spread_between_seeds(b):.0f} % | {number(line['time'])} | "
                    f"{percent(off(line['time_held_out'], line['time']))} | {line['form']} |")
    text += ["", "Mean errors: seconds per iteration from all "
             + mean_error(off(line["fitted"], line["seconds"]) for line in lines)
             + ", held out " + mean_error(off(line["held_out"], line["seconds"]) for line in lines)
             + ", from four corners "
             + mean_error(off(line["partial"], line["seconds"]) for line in lines if not line["is_corner"])
             + "; epochs held out " + mean_error(off(line["epochs_held_out"], line["epochs"]) for line in lines)
             + "; time held out " + mean_error(off(line["time_held_out"], line["time"]) for line in lines) + ".", "",
             "| B | noise scale at K = " + ", ".join(map(str, series.workers)) + " | largest / smallest - 1 |",
             "| --- | --- | --- |"]
    for batch, (scales, ratio) in series.noise_by_batch().items():
        text.append(f"| {batch} | {', '.join(number(scale, 3) for scale in scales.values())} | {percent(ratio)} |")
    text += ["", f"Searches in a job {PAPER_HOURS} hours long whose truth is this table, simulated:", "", "```",
             *series.simulated_searches(), "```"]
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", default="mlp,cnn")
    parser.add_argument("--workers", default="1,2,3,4")
    parser.add_argument("--batches", default="64,128,256,512")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cores", type=float, help="of each emulated machine, in place of the job's own")
    parser.add_argument("--prefix", type=shlex.split, default=[], help="command in front of each run, such as one that quiets the machine")
    arguments = parser.parse_args()
    programs = arguments.programs.resolve()
    if not (programs / "scavenger-worker").exists():
        print(f"skipped: {programs} has no scavenger-worker")
        sys.exit(77)
    if arguments.quick:
        with tempfile.TemporaryDirectory(prefix="scavenger_real_runs_") as folder:
            series = Series(programs, pathlib.Path(folder), "synthetic", QUICK["synthetic"], [1, 2], [32, 64, 128, 256],
                            [1], 40)
            series.run_to_targets()
            series.measure_noise()
            text = tables(series)
            print(text)
            assert all(row["epochs"] for row in series.rows), "a run did not reach its target"
            assert "nan" not in text, text
        return
    if not FASHION.exists() or arguments.out is None:
        sys.exit("--out DIR, and Fashion-MNIST (Debian package dataset-fashion-mnist), are needed")
    workers = [int(k) for k in arguments.workers.split(",")]
    batches = [int(b) for b in arguments.batches.split(",")]
    jobs = [Series(programs, arguments.out, name, JOBS[name], workers, batches, range(1, arguments.seeds + 1), 60,
                   emulated_cluster(arguments.cores or JOBS[name]["cores"], max(workers)), arguments.prefix)
            for name in arguments.jobs.split(",")]
    with steady_processors.steady_processors():
        for series in jobs:
            series.run_to_targets()
    print("the noise does not depend on who else uses the machine: it may be used again", flush=True)
    for series in jobs:
        series.measure_noise()
    text = "\n".join(map(tables, jobs))
    (arguments.out / "tables.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
