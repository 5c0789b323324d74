"""How well epochs at other batch sizes are predicted from the first part of a run: prints tables of docs/results/search.md.

    .venv/bin/python test/study/search/epochs_study.py

The runs are Pollux's of ResNet18 on CIFAR-10 (validation-B.csv in the developers' data folder, SCAVENGER_SHARED_DATA), which
log the noise of each epoch: six batch sizes, thirty pairs. From the first 2, 5, 10, 20 % of a run at B, and from all of it,
follows the noise scale B_s so far; epochs at B' beside those at B are then predicted as (1 + B' / B_s) / (1 + B / B_s). The
first table has the mean of |ln(predicted / actual)| over the pairs, in per cent:

  so far, to come   by the noise so far, and by e^0.2 times that, as `auto` once took it
  own trend         B_s as a power of the iterations, fitted on the part that was seen, followed to the end
  others' growth    the mean growth of ln B_s from that part to the whole in the other runs, the run itself left out
  others' noise     the mean ln B_s of the other runs, whole, and nothing of the run itself
  others and own    both, weighed by their errors, as `auto` takes it with earlier jobs (perfmodel/search/epochs_ratio.cpp)
  constant          epochs that do not depend on B

The second table has by how much B_s grows from a part to the whole (its logarithm, mean and standard deviation over runs), also
in the six series of the Scavenger paper's figure 6, and how often the 95 % intervals of B_s of the whole run hold.

The third table has what one stretch of a run tells of the next: by how much ln B_s, as the product's averages tell it, grew
since the run was half as old, and by how much the noise of the next stretch, as long as the run so far, exceeds these averages.
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
# perfmodel/search/epochs_ratio.cpp
GROWTH, GROWTH_DEVIATION, WHOLE_GROWTH_DEVIATION, OTHERS_DEVIATION = 0.2, 0.4, 1.2, 0.35


class Run:
    """Epochs to the metric, and what the noise was: (iterations until then, |g|^2, its variance) of each part."""

    def __init__(self, epochs, smallest, rows):
        self.epochs, self.smallest, self.rows, self.last = epochs, smallest, rows, rows[-1][0]

    def seen(self, part):
        return [row for row in self.rows if row[0] <= part * self.last] or self.rows[:1]

    def noise(self, part):
        seen = self.seen(part)
        return self.smallest * sum(row[2] for row in seen) / sum(row[1] for row in seen)

    def own_trend(self, part):
        """B_s of the whole run; what is not seen yet has the |g|^2 that was seen last."""
        seen = self.seen(part)
        if len(seen) < 3:
            return self.noise(part)
        x, y = [math.log(row[0]) for row in seen], [math.log(self.smallest * row[2] / row[1]) for row in seen]
        slope, intercept = statistics.linear_regression(x, y)
        rest = [math.exp(intercept + slope * math.log(row[0])) for row in self.rows[len(seen):]]
        return (self.noise(part) * len(seen) + sum(rest)) / len(self.rows)


def run_of(batch):
    samples, metric, batches = simulate.POLLUX[JOB]
    rows = simulate.rows_of(simulate.DATA / "pollux" / JOB / f"validation-{batch}.csv")
    reached = next(i for i, row in enumerate(rows) if float(row["metric"]) >= metric)
    parts = [(int(row["iteration"]) + 1, float(row["grad_sqr"]), float(row["grad_var"])) for row in rows[:reached + 1]]
    return Run(parts[-1][0] * batch / samples, min(batches), parts)


def paper_runs():
    """B_s / B from gamma, the ratio of the mean of K squared norms and that of their mean: gamma = (1 + K B_s / B) / (1 + B_s / B)."""
    for path in sorted((simulate.DATA / "scavenger_paper").glob("fig6_noise_*.csv")):
        workers = int(path.stem.rsplit("K", 1)[1])
        rows = [(float(row["step"]), float(row["noise"])) for row in simulate.rows_of(path)]
        yield Run(0.0, 1.0, [(step, 1.0, (gamma - 1) / (workers - gamma)) for step, gamma in rows if 1 < gamma < workers])


def weighed(own, own_deviation, others, others_deviation):
    a, b = own_deviation ** -2, others_deviation ** -2
    return math.exp((a * math.log(own) + b * math.log(others)) / (a + b)), (a + b) ** -0.5


def predictions(runs, batch, part):
    """name -> B_s of the whole run at `batch`, and the deviation of its logarithm, if it has one."""
    run, others = runs[batch], [one for other, one in runs.items() if other != batch]
    so_far, growths = run.noise(part), [math.log(one.noise(1.0) / one.noise(part)) for one in others]
    logs = [math.log(one.noise(1.0)) for one in others]
    others_deviation = max(OTHERS_DEVIATION, statistics.pstdev(logs)) * math.sqrt(1 + 1 / len(logs))
    of_others, to_come = math.exp(statistics.mean(logs)), so_far * math.exp(GROWTH)
    return {"so far": (so_far, None),
            "to come": (to_come, GROWTH_DEVIATION),
            "own trend": (run.own_trend(part), None),
            "others' growth": (so_far * math.exp(statistics.mean(growths)), max(0.05, statistics.stdev(growths))),
            "others' noise": (of_others, others_deviation),
            "others and own": weighed(to_come, WHOLE_GROWTH_DEVIATION, of_others, others_deviation)}


def errors_of(runs, part):
    errors = {}
    for batch, run in runs.items():
        for other, one in runs.items():
            if other == batch:
                continue
            actual = math.log(one.epochs / run.epochs)
            for name, (scale, _) in predictions(runs, batch, part).items():
                predicted = math.log((1 + other / scale) / (1 + batch / scale))
                errors.setdefault(name, []).append(abs(predicted - actual))
            errors.setdefault("constant", []).append(abs(actual))
    return {name: statistics.mean(values) for name, values in errors.items()}


def held(runs, part):
    """name -> how many of the intervals hold."""
    counts = {}
    for batch, run in runs.items():
        for name, (scale, deviation) in predictions(runs, batch, part).items():
            if deviation is not None:
                counts[name] = counts.get(name, 0) + (abs(math.log(run.noise(1.0) / scale)) <= 1.96 * deviation)
    return counts


def growth_text(runs, part):
    growths = [math.log(run.noise(1.0) / run.noise(part)) for run in runs]
    return f"{statistics.mean(growths):.2f} +- {statistics.stdev(growths):.2f}"


def averages(run):
    """Iterations -> ln B_s, as noise/noise_estimator.h forgets: a window of half the run so far, and of 1000 iterations at most."""
    before, gradient, trace, logs = 0.0, 0.0, 0.0, {}
    for iterations, sqr, variance in run.rows:
        kept = math.exp((before - iterations) / min(1000.0, 0.5 * iterations + 1))
        gradient, trace = kept * gradient + (1 - kept) * sqr, kept * trace + (1 - kept) * variance
        before = iterations
        logs[iterations] = math.log(trace / gradient)
    return logs


def growths(run, part):
    """Of ln B_s in the stretch before that part of the run, and in the next one; nothing where too little was logged."""
    logs, end = averages(run), part * run.last

    def known_at(iterations):
        return next((logs[one] for one in sorted(logs, reverse=True) if one <= iterations), None)
    now, before = known_at(end), known_at(end / 2)
    coming = [row for row in run.rows if end < row[0] <= 2 * end]
    if now is None or before is None or not coming:
        return None
    return now - before, math.log(sum(row[2] for row in coming) / sum(row[1] for row in coming)) - now


def trend_row(name, runs):
    pairs = [pair for run in runs for part in (0.02, 0.04, 0.08, 0.16, 0.32, 0.5) if (pair := growths(run, part))]
    before, after = zip(*pairs)
    slope, intercept = statistics.linear_regression(before, after)
    left = statistics.stdev(b - slope * a - intercept for a, b in pairs)
    return (f"| {name} | {len(pairs)} | {statistics.mean(before):.2f} +- {statistics.stdev(before):.2f} | {statistics.mean(after):.2f} +- "
            f"{statistics.stdev(after):.2f} | {statistics.correlation(before, after):.2f} | {slope:.2f} | {intercept:.2f} | {left:.2f} |")


def main():
    if not (simulate.DATA / "pollux").is_dir():
        print(f"no tables of others: {simulate.DATA} is not there")
        return
    runs = {batch: run_of(batch) for batch in simulate.POLLUX[JOB][2]}
    rows = {part: errors_of(runs, part) for part in PARTS}
    names = list(rows[PARTS[0]])
    print(f"| part of the run | {' | '.join(names)} |\n|{' --- |' * (len(names) + 1)}")
    for part, errors in rows.items():
        print(f"| {100 * part:g} % | " + " | ".join(f"{100 * errors[name]:.0f} %" for name in names) + " |")
    paper = list(paper_runs())
    names = list(held(runs, PARTS[0]))
    print(f"\n| part of the run | growth | growth, the paper's | {' | '.join(names)} |\n|{' --- |' * (len(names) + 3)}")
    for part in PARTS[:-1]:
        counts = held(runs, part)
        print(f"| {100 * part:g} % | {growth_text(runs.values(), part)} | {growth_text(paper, part)} | "
              + " | ".join(f"{counts[name]} of {len(runs)}" for name in names) + " |")
    print("\n| runs | stretches | growth before | growth to come | correlation | slope | intercept | left |\n|" + " --- |" * 8)
    print(trend_row("Pollux's", runs.values()) + "\n" + trend_row("the paper's", paper) + "\n"
          + trend_row("all", [*runs.values(), *paper]))


if __name__ == "__main__":
    main()
