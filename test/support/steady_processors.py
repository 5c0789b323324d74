"""Processors that compute as fast when they are half used as when they are used up, for emulated machines whose seconds count.

A machine that may use a fifth of a core stops and goes on two hundred times a second. On a virtual machine each stop may put the
processor to sleep, and it takes the host its time to wake it: the same pass took 1.2 to 1.6 times the processor time, by chance. So
something is always running, at a priority that gives way to everything. And Linux hands out a quota to processors in slices, whose
rests are lost for a while: slices must be short beside quotas."""

import contextlib
import os
import pathlib
import subprocess
import sys

SLICE = pathlib.Path("/proc/sys/kernel/sched_cfs_bandwidth_slice_us")
SHORT_MICROSECONDS = "1000"
SPIN = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n  for _ in range(10 ** 7): pass"


def _spinner(processor):
    def give_way():
        os.sched_setaffinity(0, {processor})
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    return subprocess.Popen([sys.executable, "-c", SPIN, str(os.getpid())], preexec_fn=give_way)


@contextlib.contextmanager
def steady_processors():
    """Needs root."""
    before = SLICE.read_text()
    spinners = [_spinner(processor) for processor in os.sched_getaffinity(0)]
    try:
        SLICE.write_text(SHORT_MICROSECONDS)
        yield
    finally:
        SLICE.write_text(before)
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
