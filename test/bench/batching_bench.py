"""Dynamic against even batches on unequal workers: one machine, and a quota of its processors for each worker.

    python3 batching_bench.py BUILD [--models mlp,cnn] [--levels 1,2,6,10] [--seeds 3] [--cores 0.9]
    python3 batching_bench.py BUILD --interference 20          # one worker throttled to a quarter for so many seconds, then freed

Needs root (quotas) and the data of configs/fashion_mlp.json and configs/mnist_cnn.json. The mixes are the paper's, of 39 cores, scaled to
--cores in all (docs/dynamic_batching.md). Seconds are from the first membership to the evaluation that reaches the target.
"""

import argparse
import json
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "support"))
import cpu_quota  # noqa: E402

MIXES = {1: (13, 13, 13), 2: (9, 12, 18), 6: (3.5, 14.5, 21), 10: (2, 17, 20)}
COMMON = ["batch_size=384", "cluster.workers=3", "cluster.threads_per_worker=1", "checkpoint.every_epochs=1000"]
MODELS = {
    "mlp": ("fashion_mlp", [*COMMON, "stop.target.value=0.84", "evaluation.every_iterations=100"]),
    "cnn": ("mnist_cnn", [*COMMON, "batch_size=192", "model.channels=[8,16]", "model.dense=32", "stop.target.value=0.93",
                          "evaluation.every_iterations=40"]),
}


class ThrottledJob:
    """A job whose workers get these parts of a processor as soon as they are there."""

    def __init__(self, build, model, cores, seed, dynamic, settings=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_batching_"))
        self.run = self.folder / "run"
        config, own = MODELS[model]
        command = [build / "bin" / "scavenger-train", ROOT / "configs" / f"{config}.json", "--quiet", "--run", self.run]
        for setting in [*own, f"seed={seed}", f"batching.dynamic={json.dumps(dynamic)}", *settings]:
            command += ["--set", setting]
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True)
        pids = {}
        while len(pids) < len(cores):
            if self.process.poll() is not None:
                raise RuntimeError(self.process.stdout.read())
            time.sleep(0.005)
            pids = {event["index"]: event["pid"] for event in self.events("process_joined") if event["role"] == "worker"}
        self.quotas = [cpu_quota.CpuQuota(pids[index], share) for index, share in enumerate(cores)]

    def events(self, name):
        path = self.run / "events.jsonl"
        if not path.exists():
            return []
        found = [json.loads(line) for line in path.read_text().rsplit("\n", 1)[0].splitlines() if line]
        return [event for event in found if event["event"] == name]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        for quota in self.quotas:
            quota.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def busy(worker):
    return [a + b + c for a, b, c in zip(worker["data_wait"], worker["forward"], worker["backward"])]


def last_membership(job):
    """Of its iterations, but for the first ones: mean seconds, the workers' own means, and their waiting for each other."""
    epoch = job.events("membership")[-1]["membership_epoch"]
    series = [event for event in job.events("iterations") if event["membership_epoch"] == epoch]
    seconds = [value for event in series for value in event["seconds"]][3:]
    times = [[value for event in series for value in busy(event["workers"][k])][3:] for k in range(len(job.quotas))]
    means = [statistics.mean(values) for values in times]
    waiting = statistics.mean(max(each) * len(each) - sum(each) for each in zip(*times)) / len(means)
    return statistics.mean(seconds), means, waiting / statistics.mean(seconds)


def to_the_target(build, model, cores, seed, dynamic):
    job = ThrottledJob(build, model, cores, seed, dynamic)
    try:
        job.process.wait(timeout=400)
        begin, target = job.events("membership")[0]["time"], job.events("target_reached")
        if not target:
            raise RuntimeError("the target was not reached")
        iteration, means, waiting = last_membership(job)
        return {"seconds": target[0]["time"] - begin, "iterations": target[0]["iteration"], "iteration": iteration,
                "spread": max(means) / min(means), "waiting": waiting, "adjustments": len(job.events("membership")) - 1,
                "shares": job.events("membership")[-1]["shares"]}
    finally:
        job.close()


def compare(build, model, level, total_cores, seeds):
    mix = MIXES[level]
    cores = [total_cores * part / sum(mix) for part in mix]
    runs = {dynamic: [to_the_target(build, model, cores, seed, dynamic) for seed in range(1, seeds + 1)] for dynamic in (False, True)}
    median = {dynamic: {key: statistics.median(run[key] for run in runs[dynamic])
                        for key in ("seconds", "iterations", "iteration", "spread", "waiting", "adjustments")} for dynamic in runs}
    even, uneven = median[False], median[True]
    print(f"| {model} | {level} | {even['seconds']:.1f} | {uneven['seconds']:.1f} | {even['seconds'] / uneven['seconds']:.2f} "
          f"| {1e3 * even['iteration']:.1f} | {1e3 * uneven['iteration']:.1f} | {even['iteration'] / uneven['iteration']:.2f} "
          f"| {even['iterations']:.0f} / {uneven['iterations']:.0f} | {100 * even['waiting']:.0f} / {100 * uneven['waiting']:.0f} % "
          f"| {even['spread']:.2f} / {uneven['spread']:.2f} | {uneven['adjustments']:.0f} | {runs[True][0]['shares']} |", flush=True)


def interfere(build, model, total_cores, seconds):
    """Prints each membership: when, after how many iterations of the disturbance, and with which shares."""
    cores = [total_cores / 3] * 3
    job = ThrottledJob(build, model, cores, 1, True, ["stop.target=null", "stop.max_epochs=100000", "evaluation.every_iterations=1000000"])
    try:
        marks = []
        for change in (None, cores[1] / 4, cores[1]):
            if change is not None:
                job.quotas[1].set(change)
            marks.append((job.events("iterations") or [{"time": 0.0, "first": 0}])[-1])
            time.sleep(seconds)
        job.process.send_signal(signal.SIGINT)
        job.process.wait(timeout=60)
        for mark, name in zip(marks, ("start", "worker 1 throttled to a quarter", "freed")):
            print(f"{name}: at {mark['time']:.1f} s, iteration {mark['first']}")
        for event in job.events("membership"):
            print(f"{event['time']:.1f} s, iteration {event['first_iteration']}: {event['shares']} {event['reason']}")
        for event in job.events("iterations")[::max(1, len(job.events("iterations")) // 40)]:
            print(f"{event['time']:.1f} s: {1e3 * statistics.mean(event['seconds']):.1f} ms")
    finally:
        job.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--models", default="mlp,cnn")
    parser.add_argument("--levels", default="1,2,6,10")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cores", type=float, default=0.9)
    parser.add_argument("--interference", type=float)
    options = parser.parse_args()
    if not cpu_quota.can_limit():
        sys.exit("needs root and the cpu controller of cgroup version 1")
    if options.interference:
        return interfere(options.build, options.models.split(",")[0], options.cores, options.interference)
    print("| model | level | s even | s dynamic | x | ms even | ms dynamic | x | iterations | waiting | longest / shortest | adjustments | shares |")
    print("| --- " * 13 + "|")
    for model in options.models.split(","):
        for level in map(int, options.levels.split(",")):
            compare(options.build, model, level, options.cores, options.seeds)


if __name__ == "__main__":
    main()
