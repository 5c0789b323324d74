"""The stages of gpu_check.py that run whole jobs: workers that share a device, and what synchronisation costs."""

import contextlib
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from running import HERE, CaseFailed
from stage_log import Check, machine
from stages import median, steady

for sibling in ("bench", "integration"):
    sys.path.insert(0, str(HERE.parent / sibling))

import job as job_files  # noqa: E402  (how checkpoints are read)
import training_job  # noqa: E402

MODEL = {"small": "mlp", "full": "cnn"}


def configuration(around, workers, iterations, model=None, batch_size=64):
    config = training_job.configuration(model or MODEL["small" if around.is_small else "full"], workers, batch_size,
                                        max(1, around.threads // workers))
    config["device"] = around.device
    config["stop"] = {"max_iterations": iterations}
    return config


@contextlib.contextmanager
def started(around, config, *settings):
    """A job of this configuration, ended however the case ends."""
    with training_job.TrainingJob(around.build, config, settings) as running:
        try:
            yield running
        finally:
            if running.process.poll() is None:  # its processes end with it
                os.killpg(running.process.pid, signal.SIGKILL)
                running.process.wait()


def end_of(around, running):
    """Waits for the job's end."""
    try:
        running.process.wait(timeout=max(1.0, min(240.0, around.deadline.left())))
    except subprocess.TimeoutExpired:
        around.deadline.require(10)  # no time left: tried again
        raise CaseFailed(f"the job did not end in 240 s:\n{running.text()[-1500:]}") from None
    if running.process.returncode != 0:
        raise CaseFailed(f"the job ended with {running.process.returncode}:\n{running.text()[-1500:]}")


def weights_of(around, config, *settings, disturb=None):
    with started(around, config, *settings) as running:
        found = disturb(running) if disturb else None
        end_of(around, running)
        return job_files.last_weights(running.run), found


# ---- Workers that share a device. ----

def equal_results(around):
    iterations = 20
    reference = configuration(around, 1, iterations)
    reference["device"] = "cpu"
    expected, _ = weights_of(around, reference)
    values, checks = {}, []
    for workers in ([2] if around.is_small else [1, 2, 4]):
        found, _ = weights_of(around, configuration(around, workers, iterations))
        difference = job_files.largest_difference(expected, found)
        values[f"K = {workers}: largest difference of weights"] = difference
        checks.append(Check(f"K = {workers}, difference of weights", difference, 1e-4))
    return values, checks


def a_worker_of(running):
    """The process id of a worker of the job."""
    for event in running.events("process_joined"):
        if event["role"] == "worker":
            return event["pid"]
    raise CaseFailed("no worker has joined")


def killed(around, workers, *settings):
    iterations = 2000 if around.is_small else 4000

    def kill(running):
        running.wait_until_it_trains(max(5.0, min(120.0, around.deadline.left())))
        os.kill(a_worker_of(running), signal.SIGKILL)
        running.wait_for_events("recovery", 1, max(5.0, min(120.0, around.deadline.left())))
        running.interrupt()
        return [event["seconds"] for event in running.events("recovery") if event["lost"]]

    with started(around, configuration(around, workers, iterations * 1000), *settings) as running:
        pauses = kill(running)
        running.process.wait(timeout=max(5.0, min(120.0, around.deadline.left())))
        if running.process.returncode not in (0, training_job.INTERRUPTED):
            raise CaseFailed(f"the job ended with {running.process.returncode}:\n{running.text()[-1500:]}")
    return {"seconds from the news to the next iteration": pauses[0]}, [Check("recoveries", float(len(pauses)), 1.0, at_least=True)]


def resized(around, sizes, *settings, config=None):
    pauses = {}
    with started(around, config or configuration(around, 1, 10**8), *settings) as running:
        running.wait_until_it_trains(max(5.0, min(120.0, around.deadline.left())))
        for workers in sizes:
            before = len(running.events("recovery"))
            limit = max(5.0, min(120.0, around.deadline.left()))
            around.run([around.build / "bin" / "scavenger-ctl", running.run, "resize", "--workers", workers, "--wait"], seconds=limit)
            running.wait_for_events("recovery", before + 1, limit)  # it is logged after the first iteration
            pauses[f"to K = {workers}: seconds without an iteration"] = sum(
                event["seconds"] for event in running.events("recovery")[before:])
        running.interrupt()
        running.process.wait(timeout=max(5.0, min(120.0, around.deadline.left())))
    judged = around.device != "cpu"
    longest = max(pauses.values())
    return pauses, [Check("longest pause of a resize", longest, 0.2, is_target=True)] if judged else []


def workers(around):
    sizes = [2, 1] if around.is_small else [2, 4, 1, 3]
    return [("equal results", equal_results), ("a worker is killed", lambda around: killed(around, 2)),
            ("resizes", lambda around: resized(around, sizes))]


# ---- All-reduce: NCCL among GPUs, Gloo on the CPU. ----

def gpus_of(around):
    """How many workers may take part: NCCL refuses two of them on one GPU."""
    return 4 if around.device == "cpu" else max(1, len(machine()["gpus"]))


def all_reduce_of(device):
    return "sync.strategy=gloo" if device == "cpu" else "sync.strategy=nccl"


def one_rank(around):
    """A job with K = 1 needs no communicator: this program makes some, adds up, and aborts one."""
    floats = 1 << (12 if around.is_small else 24)
    output = around.run([around.build / "bench" / "nccl_check", "--device", around.device, "--floats", floats], seconds=120)
    return json.loads(output), []


def equal_sums(around):
    iterations = 20
    reference = configuration(around, 1, iterations)
    reference["device"] = "cpu"
    expected, _ = weights_of(around, reference)
    values, checks = {}, []
    for workers in [size for size in ([1, 2] if around.is_small else [1, 2, 4]) if size <= gpus_of(around)]:
        found, _ = weights_of(around, configuration(around, workers, iterations), all_reduce_of(around.device))
        difference = job_files.largest_difference(expected, found)
        values[f"K = {workers}: largest difference of weights"] = difference
        checks.append(Check(f"K = {workers}, difference of weights", difference, 1e-4))
    return values, checks


def refused(around):
    """More workers than GPUs: one error that says so, before anything is started."""
    with started(around, configuration(around, gpus_of(around) + 1, 20), all_reduce_of(around.device)) as running:
        running.process.wait(timeout=max(5.0, min(60.0, around.deadline.left())))
        said = running.text()
    if running.process.returncode != 2 or "needs a GPU for each worker" not in said:
        raise CaseFailed(f"it ended with {running.process.returncode}:\n{said[-1500:]}")
    return {"said": said.strip().splitlines()[0]}, []


def all_reduce(around):
    most = gpus_of(around)
    sizes = [size for size in ([2, 1] if around.is_small else [2, 4, 3, 1]) if size <= most]
    cases = [("NCCL with one rank", one_rank), ("equal results", equal_sums),
             ("a worker is killed", lambda around: killed(around, min(2, most), all_reduce_of(around.device)))]
    if most > 1:
        cases.append(("resizes", lambda around: resized(around, sizes, all_reduce_of(around.device))))
    if around.device != "cpu":
        cases.append(("more workers than GPUs", refused))
    return cases


# ---- Workers of one host that add up before one of them sends. ----

def host_by_host(around):
    """All workers are on this machine: what is compared is the work within a host, not its link."""
    workers, iterations = (2, 200) if around.is_small else (4, 150)
    modes = ["off", "on"]
    if gpus_of(around) >= workers:
        modes.append("gloo" if around.device == "cpu" else "nccl")
    model = "mlp" if around.is_small else "resnet18"
    values, checks, weights = {}, [], {}
    for mode in modes:
        settings = ["sync.transport=tcp", f"sync.hierarchy={mode}"]
        weights[mode] = weights_of(around, configuration(around, workers, 20), *settings)[0]
        if mode != "off":
            checks.append(Check(f"{mode}, difference of weights", job_files.largest_difference(weights["off"], weights[mode]), 1e-4))
    for mode, _ in itertools.product(modes, range(1 if around.is_small else 2)):
        settings = ["sync.transport=tcp", f"sync.hierarchy={mode}"]
        seconds = seconds_per_iteration(around, configuration(around, workers, iterations, model), *settings)
        name = f"sync.hierarchy={mode}: seconds an iteration"
        values[name] = min(values.get(name, seconds), seconds)
    return values, checks


def hierarchy(_):
    return [("host by host", host_by_host)]


# ---- What synchronisation and measuring cost. ----

def seconds_per_iteration(around, config, *settings):
    """Of wall time: what is measured between iterations is not in the seconds of any."""
    with started(around, config, *settings) as running:
        end_of(around, running)
        blocks = running.iterations()
    blocks = blocks[training_job.WARM_UP_EVENTS:] if len(blocks) > 2 * training_job.WARM_UP_EVENTS else blocks
    if len(blocks) < 2:
        raise CaseFailed("the job logged too few iterations")
    return (blocks[-1]["time"] - blocks[0]["time"]) / sum(block["count"] for block in blocks[1:])


def cost_case(batch_size):
    def case(around):
        model = "mlp" if around.is_small else "resnet18"
        size, iterations = (32, 800) if around.is_small else (batch_size, 600)
        precision = "float32" if around.is_small else "bfloat16"
        alone, with_server, with_noise = [], [], []
        config = configuration(around, 1, iterations, model, size)
        config["compute"] = {"precision": precision}
        for _ in range(1 if around.is_small else 2):
            done = around.ours(model, "--batch-size", size, "--precision", precision, "--vectors", "device",
                               "--iterations", 50 if around.is_small else 300)
            alone.append(median(steady(done["seconds"])))
            with_server.append(seconds_per_iteration(around, config, "noise.half_batch_share=0"))
            with_noise.append(seconds_per_iteration(around, config))
        values = {"without synchronisation: seconds": median(alone), "parameter server, K = 1: seconds": median(with_server),
                  "the same, measuring noise: seconds": median(with_noise),
                  "parameter server / without": median(with_server) / median(alone),
                  "measuring / not measuring": median(with_noise) / median(with_server)}
        if around.device == "cpu":
            return values, []
        return values, [Check("parameter server / without", median(with_server) / median(alone), 1.03, is_target=True),
                        Check("measuring / not measuring", median(with_noise) / median(with_server), 1.01, is_target=True)]
    return f"B = {batch_size}", case


def synchronisation(around):
    return [cost_case(size) for size in ([32] if around.is_small else [128, 512])]
