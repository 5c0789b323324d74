"""A part of a processor for a running process, so that one machine looks like a cluster of unequal ones.

Control groups of version 1 (the controller `cpu`), which needs root. The period is short, so that iterations of a few
milliseconds are slowed down evenly and not stopped for a while now and then.
"""

import os
import pathlib

ROOT = pathlib.Path("/sys/fs/cgroup/cpu")
PERIOD_US = 5000


def can_limit():
    return os.geteuid() == 0 and (ROOT / "cpu.cfs_quota_us").exists() and os.access(ROOT, os.W_OK)


def group_of(pid):
    """The control group that a process is in, such as that of its emulated machine."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            return ROOT / path.lstrip("/")
    raise OSError(f"process {pid} is in no group of the cpu controller")


def set_quota(group, cores):
    """Of one processor's time; None: no limit."""
    quota_us = -1 if cores is None else max(1000, round(cores * PERIOD_US))
    (group / "cpu.cfs_period_us").write_text(str(PERIOD_US if quota_us < 0 else round(quota_us / cores)))
    (group / "cpu.cfs_quota_us").write_text(str(quota_us))


class CpuQuota:
    """One process, and all of its threads, in a group of its own; use with `with`, or call close()."""

    def __init__(self, pid, cores):
        self.folder = ROOT / f"scavenger_{os.getpid()}_{pid}"
        self.folder.mkdir()
        try:
            self.set(cores)
            (self.folder / "cgroup.procs").write_text(str(pid))
        except OSError:
            self.close()
            raise

    def set(self, cores):
        set_quota(self.folder, cores)

    def close(self):
        """What still runs in the group goes back to where it came from."""
        if not self.folder.exists():
            return
        for pid in (self.folder / "cgroup.procs").read_text().split():
            try:
                (ROOT / "cgroup.procs").write_text(pid)
            except OSError:
                pass  # it has ended
        try:
            self.folder.rmdir()
        except OSError:
            pass  # the last of them is just ending; an empty group costs nothing

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
