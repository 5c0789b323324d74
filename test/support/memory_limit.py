"""A limit of memory for a running process, which the kernel kills if it takes more.

Control groups of version 1 (the controller `memory`), which needs root. Only what the process allocates from then on counts.
"""

import time

import control_group


def can_limit():
    return control_group.can_limit("memory", "memory.limit_in_bytes")


class MemoryLimit(control_group.ControlGroup):
    """A group for processes, which add() puts into it."""

    def __init__(self, mebibytes):
        super().__init__("memory", time.monotonic_ns())
        for name in ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"):  # no swap instead; the second may be missing
            if (self.folder / name).exists():
                (self.folder / name).write_text(str(mebibytes << 20))

    def killed(self):
        """How many processes the kernel has killed because of the limit."""
        for line in (self.folder / "memory.oom_control").read_text().splitlines():
            name, value = line.split()
            if name == "oom_kill":
                return int(value)
        raise OSError("this kernel does not count what it kills")
