"""What a running job shows to the rest of its machine: its state, its ports and its shared memory."""

import json
import os
import pathlib
import re
import socket
import struct
import time


def status(run):
    """What scavenger-ctl shows; nothing while nobody answers."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            connection.connect(str(run / "control.sock"))
            connection.sendall(b'{"command": "status"}\n')
            return json.loads(connection.makefile().readline())
    except (OSError, ValueError):
        return {}


def wait_for_state(run, *states):
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        if status(run).get("state") in states:
            return
        time.sleep(0.001)
    raise AssertionError(f"it was never {' or '.join(states)}")


def shared_segments():
    return {path.name for path in pathlib.Path("/dev/shm").glob("scavenger*") if "bench" not in path.name}


def listening_ports(pid):
    """The TCP ports at which a process listens, and the addresses."""
    sockets = set()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            match = re.match(r"socket:\[(\d+)\]", os.readlink(entry))
        except FileNotFoundError:  # closed since it was listed
            continue
        if match:
            sockets.add(match.group(1))
    found = []
    for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in sockets:
            address, port = fields[1].split(":")
            found.append((socket.inet_ntoa(struct.pack("<I", int(address, 16))), int(port, 16)))
    return found
