#!/usr/bin/env python3
"""How well the tables that test/unit/perfmodel/machines reads can be predicted at all.

    test/study/vms/table_bounds.py FOLDER        with lynceus_tf_cnn.csv, sia_placements.csv, scout_multi.csv, ...

Two bounds, which know more than any prediction that is tested. "Neighbours": each set-up is interpolated, in logarithms, between
the two nearest set-ups on both sides. "Line": the line whose mean relative error over the same set-ups is least, fitted to all of
them. Repeats: how far one of three runs is from the median of the other two.
"""

import collections
import csv
import math
import pathlib
import statistics
import sys

import numpy as np


def rows(folder, name):
    with open(folder / name, newline="") as file:
        return list(csv.DictReader(file))


def neighbours(curve):
    """Errors of the inner points of {x: seconds}."""
    xs = sorted(curve)
    errors = []
    for before, here, after in zip(xs, xs[1:], xs[2:]):
        share = math.log(here / before) / math.log(after / before)
        guess = math.log(curve[before]) * (1 - share) + math.log(curve[after]) * share
        errors.append(abs(math.exp(guess) / curve[here] - 1))
    return errors


def line(curve, held):
    """Errors of the held-out points with the line a + c x, a and c not negative, that is best for them."""
    xs, ys = np.array(held, float), np.array([curve[x] for x in held])
    best = None
    # The best line for least absolute relative errors goes through two of the points, or one and the origin's axis.
    candidates = [(0.0, y / x) for x, y in zip(xs, ys)] + [(y, 0.0) for y in ys]
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            slope = (ys[j] - ys[i]) / (xs[j] - xs[i])
            candidates.append((ys[i] - slope * xs[i], slope))
    for base, slope in candidates:
        if base < 0 or slope < 0:
            continue
        errors = np.abs((base + slope * xs) / ys - 1)
        if best is None or errors.mean() < best.mean():
            best = errors
    return list(best)


def show(name, errors):
    ordered = sorted(errors)
    print(f"| {name} | {100 * statistics.mean(ordered):.1f} % | {100 * ordered[len(ordered) // 2]:.1f} % | "
          f"{100 * ordered[int(0.9 * (len(ordered) - 1))]:.1f} % | {len(ordered)} |")


def three_of(curve):
    """As the test chooses its probes: the ends, and what is nearest to their geometric middle."""
    xs = sorted(curve)
    middle = min(xs[1:-1], key=lambda x: abs(math.log(x) - 0.5 * math.log(xs[0] * xs[-1])))
    return {xs[0], middle, xs[-1]}


def curves_of(repeats):
    return {key: {x: statistics.median(values) for x, values in curve.items()} for key, curve in repeats.items()}


def sia(folder):
    repeats = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows(folder, "sia_placements.csv"):
        if row["placement"] == "1":
            repeats[row["model"], row["cluster"]][float(row["local_bsz"])].append(float(row["step_time_s"]))
    curves = [curve for curve in curves_of(repeats).values() if len(curve) >= 4]
    show("Sia, one GPU: line", [error for curve in curves
                                for error in line(curve, [x for x in sorted(curve) if x not in three_of(curve)])])
    show("Sia, one GPU: neighbours", [error for curve in curves for error in neighbours(curve)])


def lynceus(folder):
    repeats = collections.defaultdict(lambda: collections.defaultdict(list))
    for network in ("cnn", "rnn"):
        for row in rows(folder, f"lynceus_tf_{network}.csv"):
            if row["synchronism"] == "sync" and float(row["total_iterations"]) > 0:
                repeats[network, row["batch_size"], row["vm_flavor"]][float(row["n_workers"])].append(
                    float(row["training_time"]) / float(row["total_iterations"]))
    curves = curves_of(repeats)
    show("Lynceus: line in K, each job and type", [error for curve in curves.values() if len(curve) > 2
                                                   for error in line(curve, sorted(curve)[1:-1])])
    show("Lynceus: neighbours in K", [error for curve in curves.values() for error in neighbours(curve)])
    scatter = []
    for curve in repeats.values():
        for values in curve.values():
            for i, value in enumerate(values):
                others = values[:i] + values[i + 1:]
                if len(others) >= 2:
                    scatter.append(abs(statistics.median(others) / value - 1))
    show("Lynceus: repeats", scatter)


def scout(folder):
    repeats = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows(folder, "scout_multi.csv"):
        if row["completed"] == "True":
            key = row["workload"], row["framework"], row["datasize"], row["vm_type"]
            repeats[key][float(row["nodes"])].append(float(row["elapsed_s"]))
    curves = curves_of(repeats)
    show("Scout: neighbours in nodes, same job and type", [error for curve in curves.values() for error in neighbours(curve)])


def main():
    folder = pathlib.Path(sys.argv[1])
    print("| bound | mean | median | p90 | set-ups |\n| --- | --- | --- | --- | --- |")
    sia(folder)
    lynceus(folder)
    scout(folder)


if __name__ == "__main__":
    main()
