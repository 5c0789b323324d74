"""Who takes part in the synchronisation benchmarks: each is a context that gives a function, which runs a turn and returns the
median seconds of a synchronisation with its optimizer step, from when the last rank began until the last had new weights."""

import contextlib
import json
import math
import os
import secrets
import socket
import statistics
import sys

import comparison
from crew import Crew
from start_line import make_start_line

HERE = comparison.SOURCE / "test" / "bench"
LOOPBACK = "127.0.0.1"
SCHEMA = json.loads((comparison.SOURCE / "configs" / "scavenger.schema.json").read_text())
CHUNK_BYTES = SCHEMA["definitions"]["ps"]["properties"]["chunk_bytes"]["default"]


class Place:
    """Where a rank runs: its address, and what a command line begins with to be run there."""

    def __init__(self, address=LOOPBACK, prefix=(), interface="lo"):
        self.address = address
        self.prefix = list(prefix)
        self.interface = interface


class Setting:
    """One size and K."""

    def __init__(self, build, floats, places, turns):
        self.build = build
        self.floats = floats
        self.places = places
        self.turns = turns  # synchronisations in a turn

    @property
    def workers(self):
        return len(self.places)

    def program(self, name):
        return self.build / "bench" / name

    def threads(self):
        return max(1, len(os.sched_getaffinity(0)) // self.workers)


def floats_of(megabytes):
    return round(megabytes * 1e6 / 4 / 16) * 16


def chunks_of(floats):
    """No more shards than that."""
    return math.ceil(4 * floats / CHUNK_BYTES)


def median_seconds(crew, turns):
    answers = crew.run(f"run {turns}")
    begin = [max(times) for times in zip(*(answer["begin"] for answer in answers))]
    end = [max(times) for times in zip(*(answer["end"] for answer in answers))]
    return statistics.median(b - a for a, b in zip(begin, end))


@contextlib.contextmanager
def start_line(runners):
    path = make_start_line(runners)
    try:
        yield path
    finally:
        path.unlink()


@contextlib.contextmanager
def turns_of(setting, commands, secret="", inherited_files=()):
    """A crew that is warm."""
    with Crew(commands, [secret] * len(commands), inherited_files) as crew:
        crew.run("run 2")
        yield lambda: median_seconds(crew, setting.turns)


@contextlib.contextmanager
def in_shared_memory(setting):
    """Ours: all on this machine."""
    job = ["--floats", setting.floats, "--workers", setting.workers]
    file = os.memfd_create("scavenger_bench")
    try:
        shared = ["--shared-file", file]
        with start_line(setting.workers) as line, \
                Crew([[setting.program("sync_shard"), *job, *shared]], inherited_files=[file]):
            workers = [[setting.program("sync_worker"), *job, *shared, "--rank", rank, "--start-line", line]
                       for rank in range(setting.workers)]
            with turns_of(setting, workers, inherited_files=[file]) as turn:
                yield turn
    finally:
        os.close(file)


@contextlib.contextmanager
def over_tcp(setting, shard_places, spread=False):
    """Ours: shards at these places; where they are spread, shard i is on the host of worker i."""
    secret = secrets.token_hex(48) + "\n"
    job = ["--floats", setting.floats, "--workers", setting.workers]
    with start_line(setting.workers) as line:
        shards = [[*place.prefix, setting.program("sync_shard"), *job, "--index", index, "--shards", len(shard_places),
                   "--listen", place.address] for index, place in enumerate(shard_places)]
        with Crew(shards, [secret] * len(shards)) as servers:
            addresses = [f"{place.address}:{port}" for place, port in zip(shard_places, servers.ready)]
            workers = [[*place.prefix, setting.program("sync_worker"), *job, "--rank", rank, "--start-line", line,
                        *(["--near", rank] if spread else []), *addresses]
                       for rank, place in enumerate(setting.places)]
            with turns_of(setting, workers, secret) as turn:
                yield turn


@contextlib.contextmanager
def gloo(setting, pieces=1):
    """The peer: Gloo's all-reduce, from Python, and PyTorch's step."""
    port = free_port()
    with start_line(setting.workers) as line:
        commands = [[*place.prefix, sys.executable, HERE / "gloo_worker.py", setting.floats, setting.threads(), rank,
                     setting.workers, setting.places[0].address, port, line, "--pieces", pieces, "--interface",
                     place.interface] for rank, place in enumerate(setting.places)]
        with turns_of(setting, commands) as turn:
            yield turn


@contextlib.contextmanager
def memory_limit(setting):
    cores = len(os.sched_getaffinity(0))
    with start_line(cores) as line:
        commands = [[setting.program("memory_limit"), setting.floats, setting.workers, core, cores, line]
                    for core in range(cores)]
        with turns_of(setting, commands) as turn:
            yield turn


@contextlib.contextmanager
def wire_limit(setting):
    program = setting.program("wire_limit")
    with start_line(setting.workers) as line:
        with Crew([[program, "server", setting.floats, setting.workers, LOOPBACK]]) as server:
            commands = [[program, "worker", setting.floats, setting.workers, rank, LOOPBACK, server.ready[0], line]
                        for rank in range(setting.workers)]
            with turns_of(setting, commands) as turn:
                yield turn


def free_port():
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        return listener.getsockname()[1]
