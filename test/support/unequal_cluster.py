"""A job on an emulated cluster of unequal machines, and what its event log says of it."""

import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile

import cpu_quota
import job_log

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Cores of three workers, 39 in all: the paper's mixes, by the ratio of the fastest to the slowest.
MIXES = {1: (13, 13, 13), 2: (9, 12, 18), 6: (3.5, 14.5, 21), 10: (2, 17, 20)}
# Of the iterations of a membership, these many first ones are left out, and the last ones count.
SETTLING, WINDOW = 3, 40


def cores_of(level, total_cores):
    return [total_cores * part / sum(MIXES[level]) for part in MIXES[level]]


class UnequalJob:
    """A running job with one worker on each machine, worker k with cores[k] of this machine's processors."""

    def __init__(self, build, config, cores, settings):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_unequal_"))
        self.run = self.folder / "run"
        machines = [{"type": f"machine{k}", "cores": round(part, 4), "link_megabits": 0, "count": 1} for k, part in enumerate(cores)]
        own = [f"provider={json.dumps({'type': 'emulated', 'machines': machines})}", f"cluster.workers={len(cores)}",
               "cluster.threads_per_worker=1", "checkpoint.every_epochs=100000"]
        command = [build / "bin" / "scavenger-train", ROOT / "configs" / f"{config}.json", "--quiet", "--run", self.run]
        for setting in [*own, *settings]:
            command += ["--set", setting]
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def wait(self, timeout):
        output, _ = self.process.communicate(timeout=timeout)
        if self.process.returncode not in (0, 130):
            raise RuntimeError(f"scavenger-train ended with {self.process.returncode}:\n{output}")

    def events(self, name):
        return job_log.events(self.run, name)

    def throttle(self, worker, cores):
        """Gives the machine of this worker another part of the processors."""
        pids = {event["index"]: event["pid"] for event in self.events("process_joined") if event["role"] == "worker"}
        cpu_quota.set_quota(cpu_quota.group_of(pids[worker]), cores)

    def report(self):
        return json.loads((self.run / "report.json").read_text())

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()  # it returns its machines
            try:
                self.process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def busy(worker):
    """A worker's own seconds of each iteration: what the controller evens out."""
    return [a + b + c for a, b, c in zip(worker["data_wait"], worker["forward"], worker["backward"])]


def adjustments(job):
    return [event for event in job.events("membership") if "shares for" in event["reason"]]


def iterations(job):
    """How many the job has done."""
    last = job.events("iterations")[-1]
    return last["first"] + last["count"]


def last_window(job):
    """Of the last iterations of the last membership: seconds of each, and of each worker by rank; empty while there are too few."""
    return window(job, job.events("membership")[-1])


def last_full_window(job):
    """The same of the last membership that had enough of them."""
    return next(found for membership in reversed(job.events("membership")) if (found := window(job, membership))[0])


def window(job, membership):
    epoch = membership["membership_epoch"]
    series = [event for event in job.events("iterations") if event["membership_epoch"] == epoch]
    seconds = [value for event in series for value in event["seconds"]][SETTLING:][-WINDOW:]
    if not seconds:
        return [], []
    ranks = range(len(series[0]["workers"]))
    return seconds, [[value for event in series for value in busy(event["workers"][k])][SETTLING:][-WINDOW:] for k in ranks]


def spread(times):
    """Longest over shortest of the workers' mean seconds."""
    means = [statistics.mean(values) for values in times]
    return max(means) / min(means)


def waiting_share(seconds, times):
    """Of the workers' time, that they wait for slower ones."""
    waiting = sum(max(each) * len(each) - sum(each) for each in zip(*times))
    return waiting / len(times) / sum(seconds)
