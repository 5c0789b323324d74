"""A control group of version 1 for running processes of a test, which needs root."""

import os
import pathlib

CONTROLLERS = pathlib.Path("/sys/fs/cgroup")


def can_limit(controller, file):
    """Whether groups of this controller can be made here, by a file that each of them has."""
    root = CONTROLLERS / controller
    return os.geteuid() == 0 and (root / file).exists() and os.access(root, os.W_OK)


class ControlGroup:
    """A group of one controller; use with `with`, or call close()."""

    def __init__(self, controller, name):
        self._root = CONTROLLERS / controller
        self.folder = self._root / f"scavenger_{os.getpid()}_{name}"
        self.folder.mkdir()

    def add(self, pid):
        """The process, and all of its threads."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    def close(self):
        """What still runs in the group goes back to where it came from."""
        if not self.folder.exists():
            return
        for pid in (self.folder / "cgroup.procs").read_text().split():
            try:
                (self._root / "cgroup.procs").write_text(pid)
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
