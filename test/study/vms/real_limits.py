#!/usr/bin/env python3
"""How often real jobs with `--vms auto` break a limit that they were expected to keep, on an emulated cluster. Needs root.

    test/study/vms/real_limits.py BUILD/bin --truth FOLDER/results.json [--count 10] [--seconds 45] [--out FOLDER]

FOLDER is what real_machines.py has left. For each of its jobs, --count jobs search for their machines, with a limit of time, of cost, or
of both, drawn about what the cheapest fixed choice takes. A job *promises* its limits if they
hold with 90 % by the last plan that it has made, and *breaks* one if it ends there and not at its last iteration.
"""

import argparse
import json
import os
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import real_machines  # noqa: E402

ODDS = re.compile(r"the limits hold with (\d+) %")  # in the reason of a step


def draw(random_, known, seconds):
    """Iterations, and the limits: {key of `stop`: value}."""
    cost = {at: real_machines.PRICES[at[0]] * at[1] * each / 3600 for at, each in known.items()}
    cheapest = min(cost, key=cost.get)
    iterations = round(seconds / known[cheapest])
    limits = {}
    kind = random_.choice(("time", "cost", "both"))
    if kind != "cost":
        limits["max_seconds"] = round(seconds * random_.uniform(0.6, 2.0), 1)
    if kind != "time":
        limits["max_cost"] = round(iterations * cost[cheapest] * random_.uniform(1.2, 3.0), 6)
    return iterations, limits


def one_job(options, job, known, number):
    random_ = random.Random(f"{job} {number}")
    iterations, limits = draw(random_, known, options.seconds)
    run = options.out / f"{job}_{number}"
    provider = real_machines.provider(real_machines.TYPES, number, vms={"mode": "auto", "max_vms": 3})
    policy = "min-time" if "max_seconds" not in limits else "min-cost"
    settings = ["provider=" + provider, "cluster.workers=2", *(f"stop.{key}={value}" for key, value in limits.items())]
    real_machines.train(options, run, job, iterations, settings, ["--vms", "auto", "--policy", policy])
    steps = real_machines.events(run, "vm_step")
    odds = [int(found[1]) for step in steps if (found := ODDS.search(step["reason"]))]
    report = json.loads((run / "report.json").read_text())
    return {"job": job, "number": number, "iterations": iterations, **limits, "odds": odds, "promised": odds[-1:] >= [90],
            "auditions": len([step for step in steps if step["phase"] == "audition"]), "status": report["status"],
            "broke": report["status"] != "max_iterations", "seconds": report["totals"]["seconds"], "cost": report["totals"]["cost"],
            "chosen": f"{steps[-1]['workers']} x {steps[-1]['machine_type']}", "reason": steps[-1]["reason"]}


def show(results):
    promised = [one for one in results if one["promised"]]
    others = [one for one in results if not one["promised"]]
    print(f"\nload {os.getloadavg()[1]:.1f}; of {len(results)} jobs {len(promised)} promised their limits, "
          f"and {sum(one['broke'] for one in promised)} of these broke one; of the other {len(others)}, {sum(one['broke'] for one in others)} did")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--truth", type=pathlib.Path, required=True, help="results.json of real_machines.py")
    parser.add_argument("--count", default=10, type=int, help="jobs with limits, of each job of the truth")
    parser.add_argument("--seconds", default=45.0, type=float, help="that the cheapest fixed choice takes")
    parser.add_argument("--out", default=pathlib.Path("runs/real_limits"), type=pathlib.Path, help="must not be there")
    options = parser.parse_args()
    real_machines.require_emulation()
    options.out.mkdir(parents=True)
    results = []
    for known_of_job in json.loads(options.truth.read_text()):
        known = {(name.split(" x ")[1], int(name.split(" x ")[0])): seconds for name, seconds in known_of_job["truth"].items()}
        for number in range(options.count):
            results.append(one_job(options, known_of_job["job"], known, number))
            print(results[-1], flush=True)
            (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
            show(results)


if __name__ == "__main__":
    main()
