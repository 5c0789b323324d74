"""A part of a processor for a running process, so that one machine looks like a cluster of unequal ones.

Control groups of version 1 (the controller `cpu`), which needs root. The period is short, so that iterations of a few
milliseconds are slowed down evenly and not stopped for a while now and then.
"""

import pathlib

import control_group

ROOT = control_group.CONTROLLERS / "cpu"
PERIOD_US = 5000


def can_limit():
    return control_group.can_limit("cpu", "cpu.cfs_quota_us")


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


class CpuQuota(control_group.ControlGroup):
    """One process, and all of its threads, in a group of its own."""

    def __init__(self, pid, cores):
        super().__init__("cpu", pid)
        try:
            self.set(cores)
            self.add(pid)
        except OSError:
            self.close()
            raise

    def set(self, cores):
        set_quota(self.folder, cores)
