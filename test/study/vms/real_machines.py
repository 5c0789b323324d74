#!/usr/bin/env python3
"""How good the choices of `--vms auto` are on an emulated cluster, beside every fixed choice. Needs root.

    test/study/vms/real_machines.py BUILD/bin [--jobs link,core,both] [--seeds 1,2,3] [--workers 1,2,3] [--out FOLDER]

Five machine types whose prices are not proportional to their speed; VMs of one type differ by 5 %, and the second that a searching job
obtains is 30 % slower. For each job and seed:

1. The truth: each type with each number of workers, without the slow VM, for --truth-iterations iterations.
2. The search: the same job with `--vms auto --policy min-cost`, of as many iterations as the cheapest fixed choice does in --minutes.
3. What it chose and predicted, beside the truth. A prediction that counts was never measured: (type, K, B) of the plan that
   `scavenger-plan vms` makes of the run, if the run did not train there. The overhead is what the job cost and took beyond all of its
   iterations on the machines on which it ended. The regret compares that configuration's cost per iteration with the least of the truth.

Times mean something only if nothing else runs on the machine: the load is printed with the results.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "test" / "support"))
import cpu_quota  # noqa: E402
import namespaces  # noqa: E402
from job_log import events  # noqa: E402

TYPES = [{"type": "slim", "cores": 0.1, "link_megabits": 100, "price_per_hour": 0.10},
         {"type": "small", "cores": 0.2, "link_megabits": 500, "price_per_hour": 0.24},
         {"type": "medium", "cores": 0.4, "link_megabits": 1000, "price_per_hour": 0.38},
         {"type": "fatpipe", "cores": 0.1, "link_megabits": 1000, "price_per_hour": 0.16},
         {"type": "numb", "cores": 0.4, "link_megabits": 100, "price_per_hour": 0.30}]
PRICES = {one["type"]: one["price_per_hour"] for one in TYPES}
JOBS = {"link": ("[512,512]", 256), "core": ("[192,192]", 4096), "both": ("[256,256]", 1024),
        # In each 5 ms an emulated machine computes at full speed until its share is used up. These jobs compute for much longer.
        "long_link": ("[1024,1024]", 1024), "long_core": ("[192,192]", 32768), "long_both": ("[512,512]", 4096)}
MIXES = [("slim", "fatpipe"), ("small", "medium"), ("slim", "small"), ("medium", "numb")]
SEED = 17  # of the speeds, beside the number of the trial


def require_emulation():
    problem = namespaces.missing() or ("" if cpu_quota.can_limit() else "needs the cpu controller of cgroups")
    if problem:
        sys.exit(problem)


def provider(types, seed, slow=(), count=8, **more):
    machines = [{**one, "count": count} for one in types]
    return json.dumps({"type": "emulated", "machines": machines, **more,
                       "speeds": {"spread": 0.05, "seed": SEED + seed, "slow": list(slow)}})


def train(options, run, job, iterations, settings, words=()):
    hidden, batch = JOBS[job]
    command = [options.programs / "scavenger-train", SOURCE / "configs" / "synthetic_mlp.json", "--quiet", "--run", run]
    for setting in ("cluster.threads_per_worker=1", "stop.target=null", "stop.max_epochs=1000000", f"stop.max_iterations={iterations}",
                    "data.train.samples=65536", "data.test.first_sample=65536", "evaluation.every_epochs=1000000",
                    "checkpoint.every_epochs=1000000", "batching.dynamic=true", f"batch_size={batch}", f"model.hidden={hidden}",
                    "optimizer.learning_rate=0.01", *settings):
        command += ["--set", setting]
    done = subprocess.run([str(word) for word in (*command, *words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{run}: scavenger-train ended with {done.returncode}: {done.stdout}")


def totals(run):
    return json.loads((run / "report.json").read_text())


def seconds_of(run, workers):
    """Mean seconds per iteration with so many workers, the first iterations left out."""
    found = [one for one in totals(run)["configurations"] if one["workers"] == workers]
    return max(found, key=lambda one: one["iterations"])["iteration_seconds"]["mean"] if found else None


def truth(options, job, seed, folder):
    seconds = {}
    for one in TYPES:
        for workers in options.workers:
            run = folder / f"{one['type']}_{workers}"
            train(options, run, job, options.truth_iterations, ["provider=" + provider([one], seed), f"cluster.workers={workers}"])
            seconds[one["type"], workers] = seconds_of(run, workers)
    return seconds


def search(job, seed, iterations, folder, options):
    run = folder / "search"
    vms = {"mode": "auto", "max_vms": max(options.workers)}
    slow = [{"machine": 1, "speed": 0.7}]
    train(options, run, job, iterations, ["provider=" + provider(TYPES, seed, slow, vms=vms), "cluster.workers=2"],
          ["--vms", "auto", "--policy", "min-cost"])
    return run


def trained_on(run):
    """(type, K) of all memberships on one type."""
    types, found = {}, set()
    for event in events(run):
        if event["event"] == "machine" and event["change"] == "ready":
            types[event["worker"]] = event["machine_type"]
        if event["event"] == "membership":
            there = {types.get(worker) for worker in event["indices"]}
            if len(there) == 1:
                found.add((there.pop(), event["workers"]))
    return found


def planned_rows(options, run, catalogue, *words):
    """What `scavenger-plan vms` makes of the run; nothing if it makes nothing of it."""
    words = ["vms", run, "--catalog", catalogue, "--policy", "min-time", "--json", *words]
    done = subprocess.run([options.programs / "scavenger-plan", *map(str, words)], stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["rows"] if done.returncode in (0, 1) else []


def predictions(options, run, known):
    """{(type, K): predicted seconds} of configurations of the truth on which the run has not trained, on types that it knows."""
    had, predicted = trained_on(run), {}
    for workers in options.workers:
        for row in planned_rows(options, run, run, "--max-vms", workers):
            at = row["groups"][0]["type"], int(row["vms"])
            if at in known and at not in had and row["evidence"] != "catalogue":
                predicted[at] = row["iteration_seconds"]
    return predicted


def mixes(options, job, seed, run, folder):
    """{mix: error of its predicted seconds} of the mixes that a plan offers."""
    errors = {}
    config = json.loads((run / "config.json").read_text())
    catalogue = folder / "one_of_each.json"
    catalogue.write_text(json.dumps({**config, "provider": json.loads(provider(TYPES, seed, count=1))}))
    for pair in MIXES:
        name = " + ".join(pair)
        machines = provider([one for one in TYPES if one["type"] in pair], seed, count=1)
        rows = planned_rows(options, run, catalogue, "--mix", 2, "--types", ",".join(pair))
        predicted = [row["iteration_seconds"] for row in rows if len(row["groups"]) == 2]
        if predicted:
            train(options, folder / name, job, 3 * options.truth_iterations, ["provider=" + machines, "cluster.workers=2"])
            errors[name] = predicted[0] / seconds_of(folder / name, 2) - 1
    return errors


def study(options, job, seed):
    folder = options.out / f"{job}_{seed}"
    folder.mkdir(parents=True)
    known = truth(options, job, seed, folder)
    cost = {at: PRICES[at[0]] * at[1] * seconds / 3600 for at, seconds in known.items()}
    best = min(cost, key=cost.get)
    iterations = round(60 * options.minutes / known[best])
    run = search(job, seed, iterations, folder, options)
    steps, report = events(run, "vm_step"), totals(run)["totals"]
    settled = [step for step in steps if step["phase"] == "settled"][-1]
    chosen = settled["machine_type"], settled["workers"]
    there = seconds_of(run, chosen[1])
    own = PRICES[chosen[0]] * chosen[1] * (known.get(chosen) or there) / 3600
    errors = {at: predicted / known[at] - 1 for at, predicted in predictions(options, run, known).items()}
    return {"job": job, "seed": seed, "load": os.getloadavg()[1], "truth": {f"{k} x {t}": s for (t, k), s in known.items()},
            "best": f"{best[1]} x {best[0]}", "chosen": f"{chosen[1]} x {chosen[0]}", "regret": own / cost[best] - 1,
            "auditions": len([step for step in steps if step["phase"] == "audition"]),
            "replaced": len([step for step in steps if step["phase"] == "replacing"]),
            "iterations": iterations, "overhead_cost": report["cost"] / (iterations * own) - 1,
            "cost_over_best": report["cost"] / (iterations * cost[best]) - 1,
            "overhead_time": report["seconds"] / (iterations * (known.get(chosen) or there)) - 1,
            "errors": {f"{k} x {t}": error for (t, k), error in errors.items()}, "mixes": mixes(options, job, seed, run, folder),
            "seconds": report["seconds"]}


def errors_text(errors):
    sizes = [abs(error) for error in errors.values()]
    return f"{statistics.mean(sizes):.1%}, {max(sizes):.1%} of {len(sizes)}" if sizes else "-"


def show(results):
    print("\n| job, seed | best fixed | chosen | regret of cost | auditions, replaced | overhead: cost, time | cost over the best's | "
          "errors: mean, largest | of mixes | load |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for one in results:
        text, of_mixes = (errors_text(one[what]) for what in ("errors", "mixes"))
        print(f"| {one['job']}, {one['seed']} | {one['best']} | {one['chosen']} | {one['regret']:.1%} | {one['auditions']}, "
              f"{one['replaced']} | {one['overhead_cost']:.1%}, {one['overhead_time']:.1%} | {one['cost_over_best']:.1%} | {text} | {of_mixes} | "
              f"{one['load']:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--jobs", default="core", type=lambda text: text.split(","), help=", ".join(JOBS))
    parser.add_argument("--seeds", default="1", type=lambda text: [int(one) for one in text.split(",")])
    parser.add_argument("--workers", default="1,2,3", type=lambda text: [int(one) for one in text.split(",")])
    parser.add_argument("--minutes", default=10, type=float, help="of a job that searches, if it begins where it is cheapest")
    parser.add_argument("--truth-iterations", default=120, type=int)
    parser.add_argument("--out", default=pathlib.Path("runs/real_machines"), type=pathlib.Path, help="must not be there")
    options = parser.parse_args()
    require_emulation()
    results = []
    for job in options.jobs:
        for seed in options.seeds:
            results.append(study(options, job, seed))
            (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
            show(results)


if __name__ == "__main__":
    main()
