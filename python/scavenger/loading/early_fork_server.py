"""The process that loader processes are forked from, as a fork of the worker.

multiprocessing would start another Python for it, which imports PyTorch once more: seconds of a
processor for each worker, and its memory twice. It still does so where there is no such fork: it
was killed, or this Python's multiprocessing keeps its server in another way (3.14 does).
"""

from __future__ import annotations

import os
import signal
import socket
from multiprocessing import connection, forkserver
from typing import Any, NamedTuple, Optional

FIELDS = ("_forkserver_address", "_forkserver_alive_fd", "_forkserver_pid")


class Fork(NamedTuple):
    """A process that waits for what it serves with, or for the end of this one."""

    pid: int
    channel: socket.socket


_waiting: Optional[Fork] = None


def begin() -> None:
    """Fork it. Call it when PyTorch is imported and before this process has threads."""
    global _waiting
    server = _server()
    if not all(hasattr(server, name) for name in FIELDS) or hasattr(server, "_forkserver_authkey"):
        return
    try:
        ours, theirs = socket.socketpair()
        pid = os.fork()
    except OSError:  # if loader processes are needed, multiprocessing says why there are none
        return
    if pid == 0:
        ours.close()
        _serve(theirs)
    theirs.close()
    _waiting = Fork(pid, ours)


def use() -> None:
    """Have multiprocessing fork loader processes from it, if it was begun."""
    global _waiting
    if _waiting is None:
        return
    server = _server()
    alive, kept = os.pipe()  # the server ends when nobody has `kept` any more
    address = connection.arbitrary_address("AF_UNIX")  # type: ignore[attr-defined]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        os.chmod(address, 0o600)
        listener.listen()
        try:
            socket.send_fds(_waiting.channel, [b"\0"], [listener.fileno(), alive])
        except OSError:  # it was killed; multiprocessing notices, and starts another one
            pass
    os.close(alive)
    _waiting.channel.close()
    server._forkserver_address, server._forkserver_alive_fd = address, kept
    server._forkserver_pid, _waiting = _waiting.pid, None


def end() -> None:
    """End it if it was begun and nobody uses it."""
    global _waiting
    if _waiting is not None:
        os.kill(_waiting.pid, signal.SIGKILL)
        os.waitpid(_waiting.pid, 0)
        _waiting.channel.close()
        _waiting = None


def _server() -> Any:
    return forkserver._forkserver  # type: ignore[attr-defined]


def _serve(channel: socket.socket) -> None:
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 2)
        channel.close()
        if descriptors:  # else the worker has ended
            forkserver.main(*descriptors, [])  # type: ignore[attr-defined]
    finally:
        os._exit(0)
