"""Runs a program of a stage within the time that is left, and reads what it printed."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
LAST_LINES = 15


class OutOfTime(Exception):
    """The stage's time is over: the case is tried again in the next run."""


class CaseFailed(Exception):
    """What a case says of itself."""


class Deadline:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()

    def require(self, seconds):
        if self.left() < seconds:
            raise OutOfTime(f"{self.left():.0f} s are left, and {seconds:.0f} s are needed")


class Surroundings:
    """What the cases of a stage run in: programs, device, time."""

    def __init__(self, build, device, is_small, deadline, folder, contestants):
        self.build, self.device, self.is_small, self.deadline, self.folder = build, device, is_small, deadline, folder
        self.contestants = contestants  # the labels of those that are compared
        self.threads = 1 if is_small else max(1, len(os.sched_getaffinity(0)))

    def run(self, command, environment=None, seconds=600.0):
        """The standard output. Nothing of it is left when this returns, however it does."""
        limit = min(seconds, self.deadline.left())
        if limit <= 1:
            raise OutOfTime("no time is left")
        process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=self.folder,
                                   env={**os.environ, **(environment or {})})
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            if limit < seconds:
                raise OutOfTime(f"{pathlib.Path(command[0]).name} did not end in the time that was left") from None
            raise CaseFailed(f"{pathlib.Path(command[0]).name} did not end in {seconds:.0f} s") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode != 0:
            said = "\n".join((output + errors).splitlines()[-LAST_LINES:])
            raise CaseFailed(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{said}")
        return output

    def ours(self, model, *options, device=None, seconds=600.0):
        """One run of device_trainer."""
        program = self.build / "bench" / "device_trainer"
        output = self.run([program, model, "--device", device or self.device, "--threads", self.threads, *options],
                          seconds=seconds)
        return json.loads(output)

    def pytorch(self, model, *options, seconds=600.0):
        """One run of the same loop in PyTorch."""
        block = ["--block", 1] if self.is_small else []
        output = self.run([sys.executable, HERE / "peer_loop.py", model, "--device", self.device, "--threads", self.threads,
                           *block, *options], seconds=seconds)
        return json.loads(output)
