#!/usr/bin/env python3
"""Trains at many (K, B), and sets what scavenger-plan predicts from some of the runs beside what the others measured.

    test/predict/real_runs.py build/release/bin --out DIR            the long one (an hour; on a quiet machine)
    test/predict/real_runs.py build/release/bin --quick              that everything works, in seconds

Runs that are in DIR already are not made again, so an interrupted series goes on. The tables go to DIR/tables.md.
"""

import argparse
import csv
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")

# Targets lie in the steep part of the curves: further on epochs to target are chance.
JOBS = {
    "mlp": {"config": "fashion_mlp.json", "target": 0.86, "every": 1 / 8,
            "set": ['model={"type":"mlp","hidden":[128]}', "optimizer.learning_rate=0.05",
                    'optimizer.schedule={"type":"constant"}']},
    "cnn": {"config": "fashion_mlp.json", "target": 0.84, "every": 1 / 8,
            "set": ['model={"type":"cnn","channels":[8,16],"dense":32}', "optimizer.learning_rate=0.05",
                    'optimizer.schedule={"type":"constant"}']},
}
QUICK = {"synthetic": {"config": "synthetic_mlp.json", "target": 0.8, "every": 1 / 4,
                       "set": ["optimizer.learning_rate=0.05"]}}


class Series:
    """All runs of one job, and the table that they make."""

    def __init__(self, programs, folder, name, job, workers, batches, seeds, max_epochs):
        self.programs, self.folder, self.name, self.job = programs, folder / name, name, job
        self.workers, self.batches, self.seeds, self.max_epochs = workers, batches, seeds, max_epochs
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rows = []  # one per run

    def run_all(self):
        for seed in self.seeds:
            for batch in self.batches:
                for workers in self.workers:
                    self.rows.append(self.run(workers, batch, seed))

    def run(self, workers, batch, seed):
        run = self.folder / f"K{workers}_B{batch}_seed{seed}"
        report = run / "report.json"
        if not report.exists() or json.loads(report.read_text())["status"] == "running":
            shutil.rmtree(run, ignore_errors=True)
            stop = {"target": {"metric": "accuracy", "value": self.job["target"]}, "max_epochs": self.max_epochs}
            sets = self.job["set"] + [f"stop={json.dumps(stop)}", f"seed={seed}",
                                      f"evaluation.every_epochs={self.job['every']}", "checkpoint.every_epochs=1000"]
            command = [self.programs / "scavenger-train", SOURCE / "configs" / self.job["config"], "--workers", workers,
                       "--batch-size", batch, "--quiet", "--run", run]
            for one in sets:
                command += ["--set", one]
            done = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                sys.exit(f"{run}: {done.stdout}")
            shutil.rmtree(run / "checkpoints", ignore_errors=True)
        return self.row_of(run, workers, batch, seed)

    def row_of(self, run, workers, batch, seed):
        report = json.loads((run / "report.json").read_text())
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

    def plan(self, rows, name):
        columns = ["job", "workers", "batch_size", "iteration_seconds", "standard_error", "iterations", "epochs",
                   "noise_scale"]
        table = self.folder / f"{name}.csv"
        with open(table, "w", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows({key: "" if value is None else value for key, value in row.items()} for row in rows)
        command = [self.programs / "scavenger-plan", table, "--samples", self.rows[0]["samples"], "--json", "--price", 1,
                   "--workers", ",".join(map(str, self.workers)), "--batch-sizes", ",".join(map(str, self.batches))]
        done = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            sys.exit(f"{name}: {done.stderr}")
        plan = json.loads(done.stdout)
        return plan, {(row["workers"], row["batch_size"]): row for row in plan["rows"]}

    def measured(self, key, value):
        values = [row[value] for row in self.rows
                  if (row["workers"], row["batch_size"]) == key and row[value] is not None]
        return statistics.fmean(values) if values else None

    def without_time(self, rows):
        return [{**row, "iteration_seconds": None, "standard_error": None} for row in rows]

    def compare(self):
        """Per configuration: measured, and predicted without it (full), and from the four corners (partial)."""
        keys = [(k, b) for k in self.workers for b in self.batches]
        corners = [(k, b) for k in (self.workers[0], self.workers[-1]) for b in (self.batches[0], self.batches[-1])]
        at = lambda row: (row["workers"], row["batch_size"])
        corner_rows = [row for row in self.rows if at(row) in corners]
        rest_without_time = self.without_time(row for row in self.rows if at(row) not in corners)
        partial_plan, partial = self.plan(corner_rows + rest_without_time, "partial")
        lines = []
        for key in keys:
            # Neither the seconds of this configuration nor any epochs at this batch size are known.
            rest = [{**row, "epochs": None, "seconds": None} if row["batch_size"] == key[1] else row
                    for row in self.rows if at(row) != key]
            plan, full = self.plan(rest, f"without_K{key[0]}_B{key[1]}")
            lines.append({"key": key, "is_corner": key in corners,
                          "seconds": self.measured(key, "iteration_seconds"), "epochs": self.measured(key, "epochs"),
                          "time": self.measured(key, "seconds"),
                          "full": full[key]["iteration_seconds"]["value"],
                          "partial": partial[key]["iteration_seconds"]["value"],
                          "epochs_held_out": full[key]["epochs"]["value"],
                          "time_held_out": full[key]["seconds"]["value"], "form": plan["statistical_model"]["form"]})
        return lines

    def noise_by_batch(self):
        """Per batch size: the mean noise scale at each K, and their largest ratio."""
        result = {}
        for batch in self.batches:
            scales = {k: self.measured((k, batch), "noise_scale") for k in self.workers}
            known = [scale for scale in scales.values() if scale]
            result[batch] = (scales, max(known) / min(known) - 1 if len(known) > 1 else None)
        return result

    def spread_between_seeds(self, batch):
        values = [row["epochs"] for row in self.rows if row["batch_size"] == batch and row["epochs"] is not None]
        return statistics.stdev(values) / statistics.fmean(values) if len(values) > 1 else 0.0


def crossing(epochs, values, goal):
    """Where the curve first passes the goal, between two evaluations; None where it never does."""
    before = (0.0, 0.0)
    for point in zip(epochs, values):
        if point[1] is not None and point[1] >= goal:
            share = (goal - before[1]) / (point[1] - before[1])
            return before[0] + share * (point[0] - before[0]) if before[0] > 0 else point[0]
        before = point
    return None


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
            "| K | B | s/iteration | held out | corners only | epochs | held out | between seeds | time, s | held out | model |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for line in lines:
        k, b = line["key"]
        text.append(f"| {k} | {b} | {number(line['seconds'])} | {percent(off(line['full'], line['seconds']))} | "
                    f"{'fitted' if line['is_corner'] else percent(off(line['partial'], line['seconds']))} | "
                    f"{number(line['epochs'], 3)} | {percent(off(line['epochs_held_out'], line['epochs']))} | "
                    f"{100 * series.spread_between_seeds(b):.0f} % | {number(line['time'])} | "
                    f"{percent(off(line['time_held_out'], line['time']))} | {line['form']} |")
    text += ["", "Mean errors: seconds per iteration held out "
             + mean_error(off(line["full"], line["seconds"]) for line in lines)
             + ", from four corners "
             + mean_error(off(line["partial"], line["seconds"]) for line in lines if not line["is_corner"])
             + "; epochs held out " + mean_error(off(line["epochs_held_out"], line["epochs"]) for line in lines)
             + "; time held out " + mean_error(off(line["time_held_out"], line["time"]) for line in lines) + ".", "",
             "| B | noise scale at K = " + ", ".join(map(str, series.workers)) + " | largest / smallest - 1 |",
             "| --- | --- | --- |"]
    for batch, (scales, ratio) in series.noise_by_batch().items():
        text.append(f"| {batch} | {', '.join(number(scale, 3) for scale in scales.values())} | {percent(ratio)} |")
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
    arguments = parser.parse_args()
    programs = arguments.programs.resolve()
    if not (programs / "scavenger-worker").exists():
        print(f"skipped: {programs} has no scavenger-worker")
        sys.exit(77)
    if arguments.quick:
        with tempfile.TemporaryDirectory(prefix="scavenger_real_runs_") as folder:
            series = Series(programs, pathlib.Path(folder), "synthetic", QUICK["synthetic"], [1, 2], [32, 64, 128, 256],
                            [1], 40)
            series.run_all()
            text = tables(series)
            print(text)
            assert all(row["epochs"] for row in series.rows), "a run did not reach its target"
            assert "nan" not in text, text
        return
    if not FASHION.exists() or arguments.out is None:
        sys.exit("--out DIR, and Fashion-MNIST (Debian package dataset-fashion-mnist), are needed")
    text = ""
    for name in arguments.jobs.split(","):
        series = Series(programs, arguments.out, name, JOBS[name], [int(k) for k in arguments.workers.split(",")],
                        [int(b) for b in arguments.batches.split(",")], range(1, arguments.seeds + 1), 60)
        series.run_all()
        text += tables(series) + "\n"
    (arguments.out / "tables.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
