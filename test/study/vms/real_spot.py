#!/usr/bin/env python3
"""What `scavenger-plan vms --spot` predicts of a job on spot machines, beside real runs of it on an emulated cluster. Needs root.

    test/study/vms/real_spot.py BUILD/bin [--jobs core,both] [--runs 5] [--seconds 120] [--life 60] [--out FOLDER]

Each job is measured on demand, with three machines of one type. Its plan is told how long the job is, how often machines are lost and what
a start takes. Then the job runs --runs times on spot machines that live for --life seconds in the mean, half of them with a notice of two
seconds.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import real_machines  # noqa: E402

WORKERS = 3
TYPE = {**next(one for one in real_machines.TYPES if one["type"] == "medium"), "spot_price_per_hour": 0.11, "start_seconds": 2}


def measure(options, job, folder):
    """Iterations of a job of --seconds, seconds until a machine computes, and what the plan may know of the job."""
    store = folder / "store.db"
    settings = ["provider=" + real_machines.provider([TYPE], 0), f"cluster.workers={WORKERS}", f"model_store.path={store}",
                "model_store.machine_type=medium"]
    real_machines.train(options, folder / "measured", job, 200, settings)
    seconds = real_machines.seconds_of(folder / "measured", WORKERS)
    changes = real_machines.events(folder / "measured", "machine")
    asked = {one["worker"]: one["time"] for one in changes if one["change"] == "requested"}
    joined = {one["index"]: one["time"] for one in real_machines.events(folder / "measured", "process_joined") if one["role"] == "worker"}
    start = statistics.mean(joined[worker] - asked[worker] for worker in joined)
    name = plan(options, "list", "--store", store).splitlines()[1].split()[0]
    return round(options.seconds / seconds), start, json.loads(plan(options, "export", name, "--store", store))


def plan(options, *words):
    """What scavenger-plan prints."""
    command = [str(word) for word in (options.programs / "scavenger-plan", *words)]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def predict(options, job, iterations, start, record, folder):
    batch = real_machines.JOBS[job][1]
    epochs = iterations * batch / record["signature"]["samples_per_epoch"]
    record["epochs"] = [{"job": "told", "target": "its end", "workers": WORKERS, "batch_size": batch, "epochs": epochs, "seconds": 0.0}]
    told = folder / "told.json"
    told.write_text(json.dumps(record))
    planned = plan(options, "vms", told, "--catalog", folder / "measured", "--policy", "min-time", "--max-vms", WORKERS, "--batch-size", batch,
                   "--spot", "--spot-losses", 3600 / options.life, "--start-seconds", start, "--json")
    return next(one for one in json.loads(planned)["rows"] if one["spot"] and one["vms"] == WORKERS)


def study(options, job):
    folder = options.out / job
    folder.mkdir(parents=True)
    iterations, start, record = measure(options, job, folder)
    row = predict(options, job, iterations, start, record, folder)
    each = []
    for seed in range(1, options.runs + 1):
        preemption = {"mean_life_seconds": options.life, "notice_seconds": 2, "notice_share": 0.5, "seed": seed}
        provider = real_machines.provider([TYPE], 0, spot=True, preemption=preemption, count=WORKERS + 1)
        real_machines.train(options, folder / f"spot_{seed}", job, iterations, ["provider=" + provider, f"cluster.workers={WORKERS}"])
        each.append(outcome(folder / f"spot_{seed}"))
        print(job, seed, each[-1], flush=True)
    mean = {key: statistics.mean(one[key] for one in each) for key in each[0]}
    return {"job": job, "iterations": iterations, "start_seconds": start, "predicted": row, "mean": mean, "each": each}


def outcome(run):
    found = real_machines.totals(run)["totals"]
    gone = [one for one in real_machines.events(run, "machine") if one["change"] in ("lost", "notice")]
    # A machine that had notice and was killed all the same is one.
    return {"seconds": found["seconds"], "cost": found["cost"], "losses": len({one["name"] for one in gone})}


def show(results):
    print(f"\nload {os.getloadavg()[1]:.1f}\n\n| job | time predicted, 10 / 50 / 90 % | mean of the runs | error | cost predicted | mean | error | "
          "machines lost: predicted, mean |")
    print("| --- " * 8 + "|")
    for one in results:
        row, mean = one["predicted"], one["mean"]
        seconds, cost = row["seconds"], row["cost"]
        print(f"| {one['job']} | {seconds['q10']:.0f} / {seconds['q50']:.0f} / {seconds['q90']:.0f} s | {mean['seconds']:.0f} s | "
              f"{seconds['q50'] / mean['seconds'] - 1:+.1%} | ${cost['q50']:.5f} | ${mean['cost']:.5f} | {cost['q50'] / mean['cost'] - 1:+.1%} | "
              f"{row['losses']:.1f}, {mean['losses']:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--jobs", default="core,both", type=lambda text: text.split(","), help=", ".join(real_machines.JOBS))
    parser.add_argument("--runs", default=5, type=int)
    parser.add_argument("--seconds", default=120.0, type=float, help="of a job without a loss")
    parser.add_argument("--life", default=60.0, type=float, help="mean seconds of a spot machine's life")
    parser.add_argument("--out", default=pathlib.Path("runs/real_spot"), type=pathlib.Path, help="must not be there")
    options = parser.parse_args()
    real_machines.require_emulation()
    results = []
    for job in options.jobs:
        results.append(study(options, job))
        (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        show(results)


if __name__ == "__main__":
    main()
