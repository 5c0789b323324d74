"""Hosts that are network namespaces of this machine, linked to one switch: real sockets, addresses and link speeds.

    reason = namespaces.missing()            # a sentence where they cannot be had (not root, no `ip`)
    with namespaces.Network(hosts=3, rate="1gbit") as network:
        subprocess.run(network.hosts[0].command("scavenger-train", ...))
        network.hosts[1].unplug()

All hosts share the kernel, the files and the process table; only their network differs. `host.prefix` is what
`cluster.hosts` takes as `launch`. Run by hand, it measures what the links carry: python3 namespaces.py [RATE] [HOSTS].
"""

import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

FOLDER = pathlib.Path("/var/run/netns")  # where `ip netns` keeps them
PREFIX = "scavenger-"
counter = itertools.count()


@dataclasses.dataclass(frozen=True)
class Host:
    name: str  # vm0, vm1, ...
    namespace: str
    address: str
    switch: str  # the namespace with the other ends of the cables
    port: str  # this host's, at the switch

    @property
    def prefix(self):
        return ["ip", "netns", "exec", self.namespace]

    def command(self, *words):
        return [*self.prefix, *map(str, words)]

    def unplug(self):
        """Pulls the cable: nothing comes in or goes out, nobody is told."""
        ip("-n", self.switch, "link", "set", self.port, "down")

    def plug_in(self):
        ip("-n", self.switch, "link", "set", self.port, "up")


class Network:
    """`hosts` namespaces at one switch, 10.77.0.1 and on. `rate`: of each host's link in each direction, as tc writes
    it ("1gbit"); None: as fast as the machine copies."""

    def __init__(self, hosts=2, rate=None):
        # The owner's pid is in the name, so that what a killed test left can be told and removed.
        mark = f"{PREFIX}{os.getpid()}-{next(counter)}"
        self.switch = f"{mark}-switch"
        self.hosts = [Host(f"vm{i}", f"{mark}-vm{i}", f"10.77.0.{i + 1}", self.switch, f"port{i}")
                      for i in range(hosts)]
        self.rate = rate

    def __enter__(self):
        remove_abandoned()
        with contextlib.ExitStack() as undo:
            undo.callback(self.remove)
            self.build()
            undo.pop_all()
        return self

    def __exit__(self, *failure):
        self.remove()

    def build(self):
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "switch", "type", "bridge", "forward_delay", "0")
        ip("-n", self.switch, "link", "set", "switch", "up")
        for host in self.hosts:
            self.add_host(host)

    def add_host(self, host):
        ip("netns", "add", host.namespace)
        ip("-n", host.namespace, "link", "set", "lo", "up")
        ip("-n", self.switch, "link", "add", host.port, "type", "veth", "peer", "name", "eth0", "netns", host.namespace)
        ip("-n", self.switch, "link", "set", host.port, "master", "switch", "up")
        ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", "eth0")
        ip("-n", host.namespace, "link", "set", "eth0", "up")
        self.shape(self.switch, host.port)
        self.shape(host.namespace, "eth0")

    def shape(self, namespace, device):
        """What leaves by `device`, which is one direction of the cable."""
        if self.rate:
            ip("netns", "exec", namespace, "tc", "qdisc", "add", "dev", device, "root",
               "tbf", "rate", self.rate, "burst", "128kb", "latency", "20ms")

    def remove(self):
        for namespace in [host.namespace for host in self.hosts] + [self.switch]:
            if (FOLDER / namespace).exists():
                ip("netns", "delete", namespace)


def missing():
    """Why there can be no namespaces here, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            return f"there is no program {program}: install iproute2"
    try:
        with Network(hosts=1, rate="1gbit"):
            return None
    except OSError as failure:
        return f"no namespaces here: {failure}"


def remove_abandoned():
    """What tests that were killed have left."""
    for path in FOLDER.glob(f"{PREFIX}*") if FOLDER.exists() else []:
        owner = path.name[len(PREFIX):].split("-")[0]
        if owner.isdigit() and not pathlib.Path("/proc", owner).exists():
            subprocess.run(["ip", "netns", "delete", path.name], capture_output=True)


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"{' '.join(done.args)}: {done.stderr.strip()}")


# ---- What a link carries: the limit beside which a benchmark puts its numbers. ----

def link_gigabytes_per_second(source, sink, seconds=2.0):
    """Of one plain TCP stream from one host to another: payload bytes."""
    receiver = subprocess.Popen(sink.command(sys.executable, __file__, "receive", sink.address), text=True,
                                stdout=subprocess.PIPE)
    port = json.loads(receiver.stdout.readline())["port"]
    subprocess.run(source.command(sys.executable, __file__, "send", sink.address, port, seconds), check=True)
    output, _ = receiver.communicate()
    return json.loads(output)["gigabytes_per_second"]


def receive(address):
    with socket.create_server((address, 0)) as server:
        print(json.dumps({"port": server.getsockname()[1]}), flush=True)
        connection, _ = server.accept()
        room = bytearray(1 << 20)
        received, began = 0, time.monotonic()
        while count := connection.recv_into(room):
            received += count
        print(json.dumps({"gigabytes_per_second": received / (time.monotonic() - began) / 1e9}))


def send(address, port, seconds):
    with socket.create_connection((address, port)) as connection:
        block = bytes(1 << 20)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            connection.sendall(block)


# ---- What an ear at the switch hears. ----

def eavesdrop(network, port, path):
    """The command that writes to `path` what all packets at a port of the switch carry, until it is killed."""
    return ["ip", "netns", "exec", network.switch, sys.executable, __file__, "listen", port, str(path)]


def listen(device, path):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as ear, open(path, "wb", 0) as file:
        ear.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 26)
        ear.bind((device, 0))
        while True:
            file.write(tcp_payload(ear.recv(1 << 17)))


def tcp_payload(packet):
    """Of an Ethernet packet with IPv4 and TCP in it; nothing of others."""
    if packet[12:14] != b"\x08\x00" or packet[23] != socket.IPPROTO_TCP:
        return b""
    ip_end = 14 + 4 * (packet[14] & 15)
    tcp_end = ip_end + 4 * (packet[ip_end + 12] >> 4)
    return packet[tcp_end:14 + int.from_bytes(packet[16:18], "big")]


def measure(rate="1gbit", hosts=2):
    with Network(int(hosts), rate if rate != "none" else None) as network:
        for source, sink in itertools.permutations(network.hosts, 2):
            print(f"{source.name} -> {sink.name}: {link_gigabytes_per_second(source, sink):.4f} GB/s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["receive"]:
        receive(sys.argv[2])
    elif sys.argv[1:2] == ["send"]:
        send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    elif sys.argv[1:2] == ["listen"]:
        listen(*sys.argv[2:])
    elif missing():
        print(f"skipped: {missing()}")
        sys.exit(77)
    else:
        measure(*sys.argv[1:])
