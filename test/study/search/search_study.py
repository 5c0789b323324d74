"""What each kind of search costs over the oracle, for jobs of all lengths, in simulation: prints the tables of docs/results/search.md.

    .venv/bin/python test/study/search/search_study.py build/release/test/search_study [--trials 50]

Laws are drawn at random (trial_truth.cpp); Pollux's tables and the Scavenger paper's are added if the developers' data folder
(SCAVENGER_SHARED_DATA) has them. On a busy machine all iterations are slowed down as busy_machine.txt says, second by second:
two threads in step, each with 30 ms of work, were timed beside compilers on a machine with two cores (medians of three, in
units of the quickest).
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import simulate  # noqa: E402

POLICIES = ("min-time", "min-cost", "knee")


def write_table(path, name, samples, noise_scale, rows):
    lines = [f"{name} {samples} {noise_scale}"] + [" ".join(map(str, row)) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def logged_stages(source, batch_sizes, smallest, metric):
    """Of 20 equal parts of the way to the metric: |G|^2 and trace (geometric means over the runs at each batch), and epochs at
    each batch beside its mean."""
    count = 20
    parts = []
    for batch in batch_sizes:
        rows = simulate.rows_of(source / f"validation-{batch}.csv")
        rows = rows[:next(i for i, row in enumerate(rows) if float(row["metric"]) >= metric) + 1]
        ends = [float(row["iteration"]) + 1 for row in rows]

        def iterations_at(share):
            place = share * len(rows)
            before = min(int(place), len(rows) - 1)
            begin = ends[before - 1] if before else 0.0
            return begin + (place - before) * (ends[before] - begin)
        marks = [iterations_at(i / count) for i in range(count + 1)]
        parts.append([(count * (end - begin) / ends[-1], rows[min(len(rows) - 1, int((i + 0.5) / count * len(rows)))])
                      for i, (begin, end) in enumerate(zip(marks, marks[1:]))])
    mean = statistics.geometric_mean
    return [("stage", (i + 1) / count, mean([float(row["grad_sqr"]) for _, row in stage]),
             smallest * mean([float(row["grad_var"]) for _, row in stage]), *(epochs for epochs, _ in stage))
            for i, stage in enumerate(zip(*parts))]


def pollux_table(name, folder, is_logged=False):
    samples, metric, batch_sizes = simulate.POLLUX[name]
    source = simulate.DATA / "pollux" / name
    seconds = simulate.step_seconds(source)
    traces = {batch: simulate.trace(source, batch, samples, metric) for batch in batch_sizes}
    rows = []
    for workers in simulate.WORKERS:
        for batch in batch_sizes:
            measured = simulate.between(seconds[workers], batch / workers)
            if measured is not None:
                rows.append((workers, batch, measured, traces[batch][0]))
    noise = statistics.median(noise for _, noise in traces.values())
    if not is_logged:
        return write_table(folder / name, name, samples, noise, rows)
    rows += logged_stages(source, batch_sizes, min(batch_sizes), metric)
    return write_table(folder / f"{name}_logged", f"{name}_logged", samples, noise, rows)


def paper_table(name, folder):
    rows, noise = [], []
    for row in simulate.rows_of(simulate.DATA / "scavenger_paper" / "figure_points.csv"):
        if row["model"] != name or not row["epochs_to_target"]:
            continue
        workers, batch = int(row["K"]), int(row["B"])
        rows.append((workers, batch, float(row["tau_strong_derived_s"]), float(row["epochs_to_target"])))
        gamma = float(row["noise_normalised"]) * workers
        if 1 < gamma < workers:
            noise.append(batch * (gamma - 1) / (workers - gamma))
    return write_table(folder / name, name, 50000, statistics.median(noise), sorted(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--trials", default=50, type=int)
    parser.add_argument("--tables", action="store_true", help="only the tables of others")
    parser.add_argument("--modes", nargs="+", default=["off", "partial", "adaptive", "auto"], help="ways of searching, a column each")
    options = parser.parse_args()
    heads = [*options.modes, "auto beside off"] if {"off", "auto"} <= set(options.modes) else options.modes
    busy = ("--disturbance", HERE / "busy_machine.txt")

    def show(title, *words):
        print(f"\n{title}\n\n| policy | oracle takes | {' | '.join(heads)} |\n|{' --- |' * (2 + len(heads))}", flush=True)
        for policy in POLICIES:
            subprocess.run([options.program, "--policy", policy, "--modes", *options.modes, *map(str, words)], check=True)

    if not options.tables:
        show("Drawn laws, quiet machine", "--trials", options.trials)
        show("Drawn laws, busy machine", "--trials", options.trials, *busy)
    if not (simulate.DATA / "pollux").is_dir():
        print(f"\nno tables of others: {simulate.DATA} is not there")
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tables = [pollux_table(name, folder) for name in simulate.POLLUX] + [pollux_table("cifar10", folder, is_logged=True)] + [paper_table(name, folder) for name in ("ResNet18", "ResNet50")]
        show("Tables of others", "--trials", options.trials, "--tables", *tables)


if __name__ == "__main__":
    main()
