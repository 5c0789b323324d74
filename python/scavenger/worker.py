"""The worker that scavenger-train starts for a model in Python: python -m scavenger.worker.

With the word inspect it looks at a model's file for scavenger-train, with describe at a script that
has its own loop, which script SEED FILE ARGUMENTS... runs, and with export it writes a trained
model for scavenger-export; with --version it needs no torch.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import List

from scavenger import native


def version_line() -> str:
    """Return the version as each program prints it."""
    version: bytes = native.load().scavenger_worker_version()
    return "scavenger-python-worker " + version.decode().split(" ", 1)[1]


def main(words: List[str]) -> int:
    """Run the worker; return its exit code."""
    if words[:1] == ["--version"]:
        print(version_line())
        return 0
    if importlib.util.find_spec("torch") is None:
        print(f"{sys.executable} has no PyTorch; install it there, or name another Python in "
              "SCAVENGER_PYTHON")
        return 2
    if words[:1] == ["inspect"]:
        from scavenger import inspection

        return inspection.main()
    if words[:1] == ["export"]:
        from scavenger import exporting

        return exporting.main()
    if words[:1] == ["describe"]:
        from scavenger import script_description

        return script_description.main()
    if words[:1] == ["script"]:
        from scavenger import script_worker

        return script_worker.main(words[1:])
    from scavenger import host_program

    return host_program.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
