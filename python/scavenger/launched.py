"""Becomes a program that ends in order if the process that has started it dies.

launched.py PROCESS PROGRAM ARGUMENTS..., where PROCESS is the number of the one that starts it. It
runs by itself, without the package and its imports.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def main() -> None:
    """Ask the kernel for SIGTERM at the parent's death, and replace this process."""
    parent, program = int(sys.argv[1]), sys.argv[2]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == parent:  # else it has died before it could be watched
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execv(program, sys.argv[2:])


if __name__ == "__main__":
    main()
