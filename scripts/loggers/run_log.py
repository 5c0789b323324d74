"""A run folder for other people's trackers: its configuration, its scalars as they come, its summary.

Used by mlflow_sync.py and wandb_sync.py beside it. Needs Python 3.9 and nothing else. docs/trackers.md is for users.
"""

import calendar
import dataclasses
import json
import math
import os
import pathlib
import time

# The fields of an evaluation that are no metrics.
NO_METRICS = ("time", "event", "iteration", "epoch", "split", "samples", "seconds")
LOOK_AGAIN_SECONDS = 2.0


def metrics_of(evaluation):
    """By name; null if the job does not have one."""
    return {name: value for name, value in evaluation.items() if name not in NO_METRICS}


@dataclasses.dataclass
class Point:
    """Scalars of one place of the run."""

    iteration: int  # that are done
    utc_seconds: float
    values: dict  # name -> finite number


class RunError(Exception):
    """What is wrong with the user's input, in one line."""


def finite_mean(numbers):
    """Of a list with None where a number was not finite, or of a digest, whose first moment it is; None where there is none."""
    if isinstance(numbers, dict):
        return numbers["moments"][0] if numbers["moments"] else None
    numbers = [number for number in numbers if number is not None]
    return math.fsum(numbers) / len(numbers) if numbers else None


def flat(value, path=""):
    """{"model.hidden": "[64]", ...} of a configuration: what is no object is a value."""
    if not isinstance(value, dict):
        return {path: value if isinstance(value, (str, int, float, bool)) else json.dumps(value)}
    return {name: leaf for key, below in value.items() for name, leaf in flat(below, f"{path}.{key}" if path else key).items()}


class RunLog:
    """Reads the event log from a place in it on. The place is a number of bytes, at the end of a line."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.path = self.folder / "events.jsonl"
        if not self.path.is_file():  # a pipe would have to be waited for
            raise RunError(f"{self.folder}: there is no events.jsonl, so this is no run folder")
        self.place = 0
        self.batch_size = None
        self.start = None  # the last event of that name
        self.ended = False

    def config(self):
        return flat(json.loads((self.folder / "config.json").read_text()))

    def name(self):
        return json.loads((self.folder / "config.json").read_text())["name"]

    def summary(self):
        """Of report.json: how the job ended, and what it took."""
        try:
            report = json.loads((self.folder / "report.json").read_text())
        except FileNotFoundError:
            return {}
        totals = report["totals"]
        summary = {"status": report["status"], "reason": report["reason"], "seconds": totals["seconds"], "cost_dollars": totals["cost"],
                   "iterations": totals["iterations"], "epochs": totals["epochs"]}
        for split in report["splits"]:
            best = split["best"] or {}
            for metric, value in metrics_of(best).items():
                summary[f"best/{split['split']}_{metric}"] = value
        return {key: value for key, value in summary.items() if value is not None}

    def points(self, place):
        """Yields (place behind it, Point) for each event from `place` on that has scalars; (place, None) for the others.

        What was before `place` is read, too, since later events refer to it. A last line without its end is left for later.
        """
        with open(self.path, "rb") as file:
            file.seek(self.place)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self.place += len(line)
                point = self.point_of(json.loads(line))
                if self.place > place:
                    yield self.place, point

    def utc(self, event):
        if self.start is None:
            return time.time()
        begin = calendar.timegm(time.strptime(self.start["utc"], "%Y-%m-%dT%H:%M:%SZ"))
        return begin + event["time"] - self.start["time"]

    def point_of(self, event):
        kind, values, iteration = event["event"], {}, None
        if kind == "start":
            self.start, self.ended = event, False
        elif kind == "end":
            self.ended = True
        elif kind == "membership":
            self.batch_size, iteration = event["batch_size"], event["first_iteration"]
            values = {"cluster/workers": event["workers"], "cluster/batch_size": event["batch_size"]}
        elif kind in ("iterations", "iteration_block"):  # one by one, or many in digests
            iteration = event["first"] + event["count"]
            seconds = finite_mean(event["seconds"])
            values = {"train/loss": finite_mean(event["loss"]), "train/learning_rate": event["learning_rate"],
                      "speed/iteration_seconds": seconds}
            if seconds and self.batch_size:
                values["speed/samples_per_second"] = self.batch_size / seconds
        elif kind == "evaluation":
            iteration = event["iteration"]
            values = {f"{event['split']}/{metric}": value for metric, value in metrics_of(event).items()}
        values = {name: value for name, value in values.items() if value is not None}
        return Point(iteration, self.utc(event), values) if values else None


class State:
    """What a tracker's script has sent, in a small file in the run folder."""

    def __init__(self, folder, tracker):
        self.path = pathlib.Path(folder) / f".{tracker}_sync.json"
        self.content = json.loads(self.path.read_text()) if self.path.exists() else {}

    def keep(self, **values):
        self.content.update(values)
        temporary = self.path.with_suffix(".new")
        temporary.write_text(json.dumps(self.content))
        os.replace(temporary, self.path)


def batches(log, place, follow, most=200):
    """Yields (place behind, points) of what there is, and with `follow` of what comes until the job has ended."""
    while True:
        points, behind = [], place
        for behind, point in log.points(place):
            if point:
                points.append(point)
            if len(points) >= most:
                yield behind, points
                points = []
        if behind > place or points:
            yield behind, points
            place = behind
        if not follow or log.ended:
            return
        time.sleep(LOOK_AGAIN_SECONDS)
