"""How well epochs at other batch sizes are predicted from the first part of a run: prints a table of docs/results/search.md.

    .venv/bin/python test/study/search/epochs_study.py

The runs are Pollux's of ResNet18 on CIFAR-10 (validation-B.csv in the developers' data folder, SCAVENGER_SHARED_DATA), which
log the noise of each epoch: six batch sizes, thirty pairs. From the first 2, 5, 10, 20 % of a run at B, and from all of it,
follows the noise scale B_s so far; epochs at B' beside those at B are then predicted as (1 + B' / B_s) / (1 + B / B_s). The
table has the mean of |ln(predicted / actual)| over the pairs, in per cent: by the noise so far; by the noise to come as `auto`
takes it (e^0.2 times the noise so far, perfmodel/search/epochs_ratio.cpp); by a trend that the other runs tell (the mean growth
of ln B_s from that part to the whole, the run itself left out); and with epochs that do not depend on B.
"""

import math
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import simulate  # noqa: E402

JOB = "cifar10"
PARTS = (0.02, 0.05, 0.1, 0.2, 1.0)
GROWTH = 0.2


def run_of(batch):
    """Epochs to the metric, and B_s of the first part of the run, for each part."""
    samples, metric, batches = simulate.POLLUX[JOB]
    rows = simulate.rows_of(simulate.DATA / "pollux" / JOB / f"validation-{batch}.csv")
    reached = next(i for i, row in enumerate(rows) if float(row["metric"]) >= metric)
    last = int(rows[reached]["iteration"]) + 1
    noise = {}
    for part in PARTS:
        seen = [row for row in rows[:reached + 1] if int(row["iteration"]) + 1 <= part * last] or rows[:1]
        noise[part] = min(batches) * sum(float(row["grad_var"]) for row in seen) / sum(float(row["grad_sqr"]) for row in seen)
    return last * batch / samples, noise


def growth_of(others, part):
    return statistics.mean(math.log(noise[1.0] / noise[part]) for _, noise in others)


def main():
    if not (simulate.DATA / "pollux").is_dir():
        print(f"no tables of others: {simulate.DATA} is not there")
        return
    runs = {batch: run_of(batch) for batch in simulate.POLLUX[JOB][2]}
    print("| part of the run | noise so far | noise to come | trend of other runs | constant epochs |\n| --- | --- | --- | --- | --- |")
    for part in PARTS:
        errors = {"so far": [], "to come": [], "trend": [], "constant": []}
        for batch, (epochs, noise) in runs.items():
            trend = growth_of([run for other, run in runs.items() if other != batch], part)
            for other, (actual, _) in runs.items():
                if other == batch:
                    continue
                for name, growth in (("so far", 0.0), ("to come", GROWTH), ("trend", trend)):
                    scale = noise[part] * math.exp(growth)
                    predicted = epochs * (1 + other / scale) / (1 + batch / scale)
                    errors[name].append(abs(math.log(predicted / actual)))
                errors["constant"].append(abs(math.log(epochs / actual)))
        print(f"| {100 * part:g} % | " + " | ".join(f"{100 * statistics.mean(values):.0f} %" for values in errors.values()) + " |")


if __name__ == "__main__":
    main()
