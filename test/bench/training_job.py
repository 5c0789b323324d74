"""The product in a benchmark: scavenger-train on data that it makes itself, and what its events say of its speed."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import job_log  # noqa: E402

SYNTHETIC = {"mlp": {"feature_count": 784}, "cnn": {"feature_count": 784, "sample_shape": [1, 28, 28]},
             "resnet18": {"feature_count": 3072, "sample_shape": [3, 32, 32]}}
MODELS = {"mlp": {"type": "mlp", "hidden": [512, 512]}, "cnn": {"type": "cnn", "channels": [16, 32], "dense": 64},
          "resnet18": {"type": "resnet18"}}
SAMPLES = 4096
WARM_UP_EVENTS = 3  # caches, connections and memory are still being set up
NEVER = 10**9
INTERRUPTED = 130  # exit code


def configuration(model, workers, batch_size, threads, model_config=None):
    shape = dict(SYNTHETIC[model])
    features = shape.pop("feature_count")
    source = {"format": "synthetic", "feature_count": features}
    return {
        "name": "bench",
        "data": {"train": {**source, "samples": SAMPLES}, "test": {**source, "samples": 64, "first_sample": SAMPLES},
                 "classes": 10, **shape},
        "model": model_config or MODELS[model],
        "optimizer": {"type": "sgd", "learning_rate": 1e-3, "momentum": 0.9},
        "batch_size": batch_size,
        "cluster": {"workers": workers, "threads_per_worker": threads},
        "evaluation": {"every_iterations": NEVER},
        "checkpoint": {"every_iterations": NEVER, "keep_best": False},
        "stop": {"max_iterations": NEVER},
    }


class TrainingJob:
    """One run of scavenger-train in a folder of its own; a context manager."""

    def __init__(self, build, config, settings=(), arguments=()):
        self.build = build
        self.config = config
        self.settings = settings
        self.arguments = list(arguments)

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_bench_"))
        self.run = self.folder / "run"
        file = self.folder / "config.json"
        file.write_text(json.dumps(self.config))
        command = [self.build / "bin" / "scavenger-train", file, "--run", self.run, "--quiet", *self.arguments]
        for setting in self.settings:
            command += ["--set", setting]
        self.output = open(self.folder / "output", "w+")
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=subprocess.STDOUT, start_new_session=True)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.output.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def text(self):
        self.output.seek(0)
        return self.output.read()

    def wait_until_it_trains(self, seconds=120):
        """Returns when the warm-up is over."""
        self.wait_for_events("iterations", WARM_UP_EVENTS + 1, seconds)

    def iterations(self):
        """The events with iterations: one by one, and in blocks."""
        return [event for event in self.events() if event["event"] in ("iterations", "iteration_block")]

    def wait_for_events(self, name, count, seconds=240):
        logged = self.iterations if name == "iterations" else lambda: self.events(name)
        deadline = time.monotonic() + seconds
        while len(logged()) < count:
            if self.process.poll() is not None:
                raise RuntimeError(f"scavenger-train ended with {self.process.returncode}:\n{self.text()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"scavenger-train made fewer than {count} events \"{name}\" in {seconds} s:\n{self.text()}")
            time.sleep(0.1)

    def sleep_through_turn(self, begin, seconds):
        """Sleeps until the job's life has `seconds` more than `begin`, and then until its log has measurements since:
        on a busy machine one event may take longer than a turn. Returns when the turn ended in the job's life."""
        time.sleep(max(0.0, begin + seconds - self.life_seconds()))
        deadline = time.monotonic() + 120
        while not measurements(self.iterations(), begin, self.life_seconds()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"scavenger-train logs no iterations any more:\n{self.text()}")
            time.sleep(0.1)
        return self.life_seconds()

    def life_seconds(self):
        return time.time() - self.begin_seconds()

    def wait_for_end(self, seconds=240):
        self.process.wait(timeout=seconds)
        if self.process.returncode not in (0, INTERRUPTED):
            raise RuntimeError(f"scavenger-train ended with {self.process.returncode}:\n{self.text()}")

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def events(self, name=None):
        return job_log.events(self.run, name)

    def begin_seconds(self):
        """When the job's life began, in wall time: the run folder's configuration is the first thing written."""
        return (self.run / "config.json").stat().st_mtime


def seconds_of_each(event):
    """The seconds of each iteration of an event; of a block, their mean for each."""
    if event["event"] == "iterations":
        return event["seconds"]
    return [event["seconds"]["moments"][0]] * event["count"]


def measurements(events, begin, end):
    """Of TrainingJob.iterations(): those within [begin, end] of the job's life, after the warm-up."""
    return [event for event in events[WARM_UP_EVENTS:] if begin <= event["time"] <= end]


def iterations_per_second(events, begin=0.0, end=float("inf")):
    """Of `measurements`. The seconds of an iteration go from its begin to that of the next one."""
    within = measurements(events, begin, end)
    if not within:
        raise RuntimeError("no measurements: let the turns be longer (--seconds)")
    return sum(event["count"] for event in within) / sum(sum(seconds_of_each(event)) for event in within)
