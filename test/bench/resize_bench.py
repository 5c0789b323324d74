"""How long no iteration ends when a job's K changes: scavenger-ctl resize, torchrun and AdaptDL, in turns.

    .venv/bin/python test/bench/resize_bench.py [--rounds 3] [--adaptdl PYTHON] [--json FILE]

The MLP 784-512-512-10 with B = 128 goes from K = 2 to 4, to 1 and to 3. A pause is from the end of the last iteration at the old K to
the end of the first at the new one, checkpoints and restarts and all.

  ours          a running job is told by scavenger-ctl; in shared memory, and over TCP
  ours, K and B the same with B = 128 to 512, to 64, to 128
  torchrun      an agent per worker, DDP over Gloo; agents are started and ended (SIGTERM), the others restart their workers from a
                checkpoint of at most 50 iterations ago. With last_call_timeout=1 in place of 30 s, and
                TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1, without which PyTorch 2.13 does not come together again
  AdaptDL       all replicas get SIGTERM, write a checkpoint and end, and are started anew with the other K, as its scheduler does

AdaptDL 0.2.11 is not among the test requirements: --adaptdl names a Python that has it (pip install adaptdl torch); left out without.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import comparison
import training_job

HERE = pathlib.Path(__file__).resolve().parent
SIZES = [2, 4, 1, 3]
BATCHES = [128, 512, 64, 128]
STEPS = [f"{before} to {after}" for before, after in zip(SIZES, SIZES[1:])]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def ours(options, settings, batches):
    """Pauses in milliseconds, by step."""
    config = training_job.configuration("mlp", SIZES[0], batches[0], None)
    del config["cluster"]["threads_per_worker"]
    with training_job.TrainingJob(options.build, config, settings) as job:
        job.wait_until_it_trains()
        for workers, batch_size in list(zip(SIZES, batches))[1:]:
            time.sleep(options.settle_seconds)
            subprocess.run([options.build / "bin" / "scavenger-ctl", job.run, "resize", "--workers", str(workers), "--batch-size",
                            str(batch_size), "--wait"], check=True, stdout=subprocess.DEVNULL)
        time.sleep(options.settle_seconds)
        job.interrupt()
        job.wait_for_end()
        pauses = {event["membership_epoch"]: 1e3 * event["seconds"] for event in job.events("recovery")}
        reached = {}
        for event in job.events("membership"):
            reached.setdefault((event["workers"], event["batch_size"]), event["membership_epoch"])
        epochs = [reached[size] for size in zip(SIZES, batches)]
        # Where workers come one after another there are several: the longest.
        return {step: max(pauses[epoch] for epoch in range(begin + 1, end + 1) if epoch in pauses)
                for step, begin, end in zip(STEPS, epochs, epochs[1:])}


class Peer:
    """Processes, and the iterations that their first rank has noted."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_bench_"))
        self.processes = []

    def start(self, command, **environment):
        log = open(self.folder / "log", "a")
        self.processes.append(subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=HERE,
                                               start_new_session=True, env={**os.environ, "GLOO_SOCKET_IFNAME": "lo", **environment}))

    def iterations(self):
        path = self.folder / "iterations"
        lines = path.read_text().rsplit("\n", 1)[0].splitlines() if path.exists() else []
        return [(int(world), float(seconds)) for world, seconds in map(str.split, lines)]

    def wait_for(self, world, since, seconds=180):
        """Until it trains with so many; the pause before, in milliseconds."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.iterations()
            for i in range(since, len(found)):
                if found[i][0] == world and i > 0:
                    # The last one that did not begin with the new size.
                    return 1e3 * (found[i][1] - found[i - 1][1])
                if found[i][0] == world:
                    return 0.0
            time.sleep(0.05)
        raise RuntimeError(f"does not train with {world}:\n{(self.folder / 'log').read_text()[-3000:]}")

    def end(self, processes=None):
        for process in processes if processes is not None else self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in processes if processes is not None else self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=60)

    def close(self):
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def go_through_sizes(options, peer, resize):
    """resize(workers): starts and ends processes."""
    pauses = {}
    try:
        resize(SIZES[0])
        peer.wait_for(SIZES[0], 0)
        for step, workers in zip(STEPS, SIZES[1:]):
            time.sleep(options.settle_seconds)
            since = len(peer.iterations())
            resize(workers)
            pauses[step] = peer.wait_for(workers, since)
        return pauses
    finally:
        peer.close()


def torchrun(options):
    peer = Peer()
    port = free_port()

    def resize(workers):
        running = [process for process in peer.processes if process.poll() is None]
        peer.end(running[workers:])  # the first one's agent hosts the rendezvous
        for _ in range(len(running), workers):
            peer.start([sys.executable, "-m", "torch.distributed.run", "--nnodes=1:4", "--nproc-per-node=1", "--max-restarts=100",
                        "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=bench", "--local-addr=127.0.0.1",
                        "--rdzv-conf=last_call_timeout=1", HERE / "resize_worker.py", "torchrun", peer.folder, BATCHES[0]],
                       TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1", OMP_NUM_THREADS="1")

    return go_through_sizes(options, peer, resize)


def adaptdl(options):
    peer = Peer()
    restarts = 0

    def resize(workers):
        nonlocal restarts
        peer.end()
        port = free_port()
        for rank in range(workers):
            peer.start([options.adaptdl, HERE / "resize_worker.py", "adaptdl", peer.folder, BATCHES[0]],
                       ADAPTDL_CHECKPOINT_PATH=str(peer.folder), ADAPTDL_JOB_ID="bench", ADAPTDL_MASTER_ADDR="127.0.0.1",
                       ADAPTDL_MASTER_PORT=str(port), ADAPTDL_REPLICA_RANK=str(rank), ADAPTDL_NUM_REPLICAS=str(workers),
                       ADAPTDL_NUM_NODES="1", ADAPTDL_NUM_RESTARTS=str(restarts))
        restarts += 1

    return go_through_sizes(options, peer, resize)


def parse():
    parser = comparison.parser(__doc__, rounds=3)
    parser.add_argument("--settle-seconds", type=float, default=3.0, help="of training between two changes (default: %(default)s)")
    parser.add_argument("--adaptdl", type=pathlib.Path, metavar="PYTHON", help="one that can import adaptdl and torch")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.settle_seconds = 1, 0.3
    return options


def main():
    options = parse()
    contestants = {"ours": lambda: ours(options, ["sync.transport=shared_memory"], BATCHES[:1] * len(SIZES)),
                   "ours, TCP": lambda: ours(options, ["sync.transport=tcp"], BATCHES[:1] * len(SIZES)),
                   "ours, K and B": lambda: ours(options, ["sync.transport=shared_memory"], BATCHES),
                   "ours, K and B, TCP": lambda: ours(options, ["sync.transport=tcp"], BATCHES),
                   "torchrun": lambda: torchrun(options)}
    if options.adaptdl:
        contestants["AdaptDL"] = lambda: adaptdl(options)
    elif not options.quick:
        print("AdaptDL is left out: name a Python that has it, --adaptdl PYTHON", file=sys.stderr)
    if options.quick:
        del contestants["torchrun"]
    report = comparison.Report("pause when K changes", "milliseconds", options)
    turns = comparison.measure_in_turns(contestants, options.rounds)
    for step in STEPS:
        report.add(comparison.Case(step, {name: [pauses[step] for pauses in values] for name, values in turns.items()}),
                   [("torchrun / ours", "torchrun", "ours"), ("AdaptDL / ours", "AdaptDL", "ours")])
    report.finish()


if __name__ == "__main__":
    main()
