"""A limit of memory for a running process, which the kernel kills if it takes more.

Control groups of version 1 (the controller `memory`), which needs root. Only what the process allocates from then on counts.
"""

import os
import pathlib
import time

ROOT = pathlib.Path("/sys/fs/cgroup/memory")


def can_limit():
    return os.geteuid() == 0 and (ROOT / "memory.limit_in_bytes").exists() and os.access(ROOT, os.W_OK)


class MemoryLimit:
    """A group for processes, which add() puts into it; use with `with`, or call close() when they have ended."""

    def __init__(self, mebibytes):
        self.folder = ROOT / f"scavenger_{os.getpid()}_{time.monotonic_ns()}"
        self.folder.mkdir()
        for name in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"):  # no swap instead; the second may be missing
            if (self.folder / name).exists():
                (self.folder / name).write_text(str(mebibytes << 20))

    def add(self, pid):
        (self.folder / "cgroup.procs").write_text(str(pid))

    def killed(self):
        """How many processes the kernel has killed because of the limit."""
        for line in (self.folder / "memory.oom_control").read_text().splitlines():
            name, value = line.split()
            if name == "oom_kill":
                return int(value)
        raise OSError("this kernel does not count what it kills")

    def close(self):
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
