"""The process that loader processes are forked from, as a fork of the worker.

multiprocessing would start another Python for it, which imports PyTorch once more: seconds of a
processor for each worker, and its memory twice. It still does so if this one was killed.
"""

from __future__ import annotations

import os
import socket
from multiprocessing import connection, forkserver
from typing import Any

FIELDS = ("_forkserver_address", "_forkserver_alive_fd", "_forkserver_pid")


def begin() -> None:
    """Fork it. Call it when PyTorch is imported and before this process has threads.

    Nothing happens if this Python's multiprocessing keeps its server in another way (3.14 does).
    """
    server: Any = forkserver._forkserver  # type: ignore[attr-defined]
    is_known = all(hasattr(server, field) for field in FIELDS)
    if not is_known or hasattr(server, "_forkserver_authkey"):
        return
    alive, kept = os.pipe()  # the server ends when nobody has `kept` any more
    address = connection.arbitrary_address("AF_UNIX")  # type: ignore[attr-defined]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        os.chmod(address, 0o600)
        listener.listen()
        child = os.fork()
        if child == 0:
            os.close(kept)
            _serve(listener.fileno(), alive)
    os.close(alive)
    server._forkserver_address, server._forkserver_alive_fd = address, kept
    server._forkserver_pid = child


def _serve(listener: int, alive: int) -> None:
    try:
        forkserver.main(listener, alive, [])  # type: ignore[attr-defined]
    finally:
        os._exit(0)


def end() -> None:
    """End it if it was begun: there will be no loader processes."""
    server: Any = forkserver._forkserver  # type: ignore[attr-defined]
    if getattr(server, "_forkserver_pid", None) is not None:
        server._stop()
