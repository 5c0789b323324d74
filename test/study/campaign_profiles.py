#!/usr/bin/env python3
"""The surrogate of a campaign of configs/electrolyte.json beside the 162 published profiles, also where nothing was simulated.

    test/study/campaign_profiles.py build/release/bin RUN [--data SHARED_DATA/md]

Prints the root of the mean squared difference over all bins of both species: of predictions at all points and at those that were not
simulated, and of the simulations themselves. Published profiles are folded about the middle, as those of the campaign are.
"""

import argparse
import csv
import json
import pathlib
import subprocess

import simulations

PARAMETERS = ("Z", "c", "sigma")


def rows_of(text):
    rows = list(csv.DictReader(text.splitlines()))
    return [tuple(float(row[name]) for name in ("z_nm", "positive_M", "negative_M")) for row in rows]


def predicted(programs, run, points):
    """The profile of each point."""
    words = [programs / "scavenger-predict", run]
    for point in points:
        words += ["--at", ",".join(f"{name}={value}" for name, value in zip(PARAMETERS, point))]
    text = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout
    profiles = {}
    for row in csv.DictReader(text.splitlines()):
        at_point = tuple(float(row[name]) for name in PARAMETERS)
        profiles.setdefault(at_point, []).append(tuple(float(row[name]) for name in ("z_nm", "positive_M", "negative_M")))
    return profiles


def at(profile, species, z):
    """Between the middle (z = 0) and the wall; beyond it there are no ions."""
    if z > profile[-1][0]:
        return 0.0
    step = profile[1][0] - profile[0][0]
    k = min(int(z / step), len(profile) - 2)
    share = z / step - k
    return profile[k][species] * (1 - share) + profile[k + 1][species] * share


def squared_difference(own, theirs):
    """The mean over bins and species."""
    squares = 0.0
    for species in (1, 2):
        other = [row[species] for row in theirs]
        folded = [(a + b) / 2 for a, b in zip(other, reversed(other))]
        squares += sum((at(own, species, abs(row[0])) - value) ** 2 for row, value in zip(theirs, folded)) / len(folded)
    return squares / 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[3] / "shared" / "data" / "md")
    arguments = parser.parse_args()
    group = simulations.published(arguments.data)
    report = json.loads((arguments.run / "report.json").read_text())
    simulated = {}
    for entry in report["simulations"]:
        if entry["state"] == "done":
            path = arguments.run / "simulations" / f"{entry['point']:04}" / "result" / "profile.csv"
            simulated[tuple(entry["values"][name] for name in PARAMETERS)] = path
    errors = {point: squared_difference(profile, group[point])
              for point, profile in predicted(arguments.programs, arguments.run, list(group)).items()}

    def rmse(values):
        values = list(values)
        return f"{(sum(values) / len(values)) ** 0.5:.4f} mol/l at {len(values)} points" if values else "no points"
    near = lambda a, b: all(abs(x - y) < 1e-9 for x, y in zip(a, b))  # noqa: E731
    paths = {point: next((path for other, path in simulated.items() if near(point, other)), None) for point in group}
    print("predictions:", rmse(errors.values()))
    print("predictions where nothing was simulated:", rmse(errors[point] for point in group if paths[point] is None))
    print("simulations:", rmse(squared_difference(rows_of(path.read_text()), group[point]) for point, path in paths.items() if path))
    for concentration in sorted({point[1] for point in group}):
        print(f"predictions at {concentration} mol/l:", rmse(value for point, value in errors.items() if point[1] == concentration))


if __name__ == "__main__":
    main()
