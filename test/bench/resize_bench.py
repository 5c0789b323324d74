"""How long no iteration ends when a job's K changes: scavenger-ctl resize, torchrun and AdaptDL, in turns.

    .venv/bin/python test/bench/resize_bench.py [--rounds 3] [--adaptdl PYTHON] [--json FILE]

The MLP 784-512-512-10 with B = 128 goes from K = 2 to 4, to 1 and to 3 in one run. A pause is from the end of the last iteration at
the old K to the end of the first at the new one, checkpoints and restarts and all. Where a job trains with sizes in between, because
processes come one by one, it is the sum of its pauses.

  ours          a running job is told by scavenger-ctl; in shared memory, and over TCP
  ours, K and B the same with B = 128 to 512, to 64, to 128
  torchrun      an agent per worker, DDP over Gloo; agents are started and ended (SIGTERM), the others restart their workers from a
                checkpoint of at most 50 iterations ago. With last_call_timeout=1 in place of 30 s, and
                TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1, without which PyTorch 2.13 does not come together again
  AdaptDL       all replicas get SIGTERM, write a checkpoint and end, and are started anew with the other K, as its scheduler does

AdaptDL 0.2.11 is not among the test requirements: --adaptdl names a Python that has it (pip install torch adaptdl==0.2.11 requests
'setuptools<81'); left out without.
"""

import contextlib
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


def steps(sizes):
    return [f"{before} to {after}" for before, after in zip(sizes, sizes[1:])]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for_listener(port, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise RuntimeError(f"nobody listens at port {port}")


# ---- Ours. ----

def ours(options, transport, batches):
    """Pauses in milliseconds, by step."""
    config = training_job.configuration("mlp", options.sizes[0], batches[0], None)
    del config["cluster"]["threads_per_worker"]
    with training_job.TrainingJob(options.build, config, [f"sync.transport={transport}"]) as job:
        job.wait_until_it_trains()
        for workers, batch_size in list(zip(options.sizes, batches))[1:]:
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
    epochs = [reached[size] for size in zip(options.sizes, batches)]
    return {step: sum(pauses[epoch] for epoch in range(begin + 1, end + 1) if epoch in pauses)
            for step, begin, end in zip(steps(options.sizes), epochs, epochs[1:])}


# ---- Peers. ----

class Peer:
    """Processes, and the iterations that their rank 0 has noted."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_bench_"))
        self.processes = []

    def start(self, command, **environment):
        environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", **environment}
        with open(self.folder / "log", "a") as log:
            self.processes.append(subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=HERE,
                                                   start_new_session=True, env=environment))

    def running(self):
        return [process for process in self.processes if process.poll() is None]

    def iterations(self):
        """(world, process, seconds) of each."""
        path = self.folder / "iterations"
        lines = path.read_text().rsplit("\n", 1)[0].splitlines() if path.exists() else []
        return [(int(world), int(process), float(seconds)) for world, process, seconds in map(str.split, lines)]

    def wait_for(self, world, since, seconds=120):
        """Until it trains with so many. The seconds of its pauses since that iteration: a process of rank 0 is of one membership."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.iterations()
            pauses = 0.0
            for before, after in zip(found[since:], found[since + 1:]):
                if after[1] != before[1]:
                    pauses += after[2] - before[2]
                if after[0] == world:
                    return pauses
            time.sleep(0.05)
        raise RuntimeError(f"does not train with {world}:\n{(self.folder / 'log').read_text()[-3000:]}")

    def end(self, processes, seconds=60):
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=seconds)

    def close(self):
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def go_through_sizes(options, peer, resize):
    """resize(workers): starts and ends processes. Pauses in milliseconds, by step."""
    pauses = {}
    try:
        resize(options.sizes[0])
        peer.wait_for(options.sizes[0], 0)
        for step, workers in zip(steps(options.sizes), options.sizes[1:]):
            time.sleep(options.settle_seconds)
            since = len(peer.iterations()) - 1
            resize(workers)
            pauses[step] = 1e3 * peer.wait_for(workers, since)
        return pauses
    finally:
        peer.close()


def torchrun(options):
    peer = Peer()
    port = free_port()

    def resize(workers):
        running = peer.running()
        peer.end(running[workers:])  # not the first one, which hosts the rendezvous
        for i in range(len(running), workers):
            if i == 1:
                wait_for_listener(port)
            peer.start([sys.executable, "-m", "torch.distributed.run", "--nnodes=1:4", "--nproc-per-node=1", "--max-restarts=100",
                        "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=bench", "--local-addr=127.0.0.1",
                        "--rdzv-conf=last_call_timeout=1", HERE / "peers" / "resize_worker.py", "torchrun", peer.folder, BATCHES[0]],
                       TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1", OMP_NUM_THREADS="1")

    return go_through_sizes(options, peer, resize)


def adaptdl(options):
    peer = Peer()
    restarts = 0

    def resize(workers):
        nonlocal restarts
        peer.end(peer.running())
        port = free_port()
        for rank in range(workers):
            peer.start([options.adaptdl, HERE / "peers" / "resize_worker.py", "adaptdl", peer.folder, BATCHES[0]],
                       ADAPTDL_CHECKPOINT_PATH=str(peer.folder), ADAPTDL_JOB_ID="bench", ADAPTDL_MASTER_ADDR="127.0.0.1",
                       ADAPTDL_MASTER_PORT=str(port), ADAPTDL_REPLICA_RANK=str(rank), ADAPTDL_NUM_REPLICAS=str(workers),
                       ADAPTDL_NUM_NODES="1", ADAPTDL_NUM_RESTARTS=str(restarts))
        restarts += 1

    return go_through_sizes(options, peer, resize)


def parse():
    parser = comparison.parser(__doc__, rounds=3)
    parser.add_argument("--settle-seconds", type=float, default=2.0, help="of training between two changes (default: %(default)s)")
    parser.add_argument("--adaptdl", type=pathlib.Path, metavar="PYTHON", help="one that can import adaptdl and torch")
    options = parser.parse_args()
    options.sizes = SIZES
    if options.quick:
        options.rounds, options.settle_seconds, options.sizes = 1, 0.3, [1, 2]
    return options


def main():
    options = parse()
    constant, changing = BATCHES[:1] * len(options.sizes), BATCHES[:len(options.sizes)]
    contestants = {"ours": lambda: ours(options, "shared_memory", constant),
                   "ours, TCP": lambda: ours(options, "tcp", constant),
                   "ours, K and B": lambda: ours(options, "shared_memory", changing),
                   "ours, K and B, TCP": lambda: ours(options, "tcp", changing),
                   "torchrun": lambda: torchrun(options)}
    if options.adaptdl:
        contestants["AdaptDL"] = lambda: adaptdl(options)
    else:
        print("AdaptDL is left out: name a Python that has it, --adaptdl PYTHON", file=sys.stderr)
    report = comparison.Report("pause when K changes", "milliseconds", options)
    turns = comparison.measure_in_turns(contestants, options.rounds)
    for step in steps(options.sizes):
        report.add(comparison.Case(step, {name: [pauses[step] for pauses in values] for name, values in turns.items()}),
                   [("torchrun / ours", "torchrun", "ours"), ("torchrun / ours, TCP", "torchrun", "ours, TCP"),
                    ("AdaptDL / ours", "AdaptDL", "ours"), ("AdaptDL / ours, TCP", "AdaptDL", "ours, TCP")])
    report.finish()


if __name__ == "__main__":
    main()
