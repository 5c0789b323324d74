"""A job whose workers are on two hosts (network namespaces), and what crosses the link of a host in an iteration.

Run by hand, it compares the values of sync.hierarchy over links of 1 Gbit/s, which needs root:

    sudo .venv/bin/python test/support/hierarchy.py [--build FOLDER] [--workers 2 4] [--rate 1gbit] [--hidden 1024] [--rounds 3]

It prints the bytes that a host of workers receives in an iteration, and the seconds of an iteration (the least of the rounds'
medians). `auto` does not measure: this shows what it chooses between.
"""

import argparse
import dataclasses
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "integration"))
import job as job_files  # noqa: E402
import namespaces  # noqa: E402


@dataclasses.dataclass
class Measured:
    bytes_per_iteration: float  # that a host of workers receives
    seconds_per_iteration: float
    weights: object


def received_bytes(host):
    done = subprocess.run(host.command("cat", "/sys/class/net/eth0/statistics/rx_bytes"), capture_output=True, text=True)
    try:
        return int(done.stdout)
    except ValueError:  # /sys shows the devices of another namespace
        words = subprocess.run(["ip", "-n", host.namespace, "-s", "-j", "link", "show", "eth0"], capture_output=True,
                               text=True, check=True).stdout
        return json.loads(words)[0]["stats64"]["rx"]["bytes"]


def measure(build, network, workers, mode, iterations, hidden):
    """`workers` on each of the last two of three hosts, the shard on the first; `mode`: of sync.hierarchy."""
    here, *hosts = network.hosts
    folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_hierarchy_"))
    try:
        run = folder / "run"
        places = [{"name": host.name, "address": host.address, "workers": workers, "launch": host.prefix} for host in hosts]
        settings = [f"cluster.hosts={json.dumps(places)}", f"cluster.listen_address={here.address}", "cluster.threads_per_worker=1",
                    "sync.transport=tcp", "ps.placement=controller", f"sync.hierarchy={mode}", "stop.target=null",
                    f"stop.max_iterations={iterations}", f"model.hidden=[{hidden},{hidden}]", "batch_size=16",
                    "evaluation.every_epochs=100000"]
        command = [build / "bin" / "scavenger-train", ROOT / "configs" / "synthetic_mlp.json", "--quiet", "--run", run,
                   "--workers", workers * len(hosts)]
        for setting in settings:
            command += ["--set", setting]
        before = received_bytes(hosts[0])
        done = subprocess.run(here.command(*command), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=240)
        if done.returncode != 0:
            raise RuntimeError(done.stdout)
        seconds = [second for event in job_files.trained(run) for second in event.get("seconds", [])]
        return Measured((received_bytes(hosts[0]) - before) / iterations, statistics.median(seconds) if seconds else 0.0,
                        job_files.last_weights(run))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


MODES = ("off", "on", "gloo")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--workers", nargs="+", type=int, default=[2, 4], help="on each of the two hosts")
    parser.add_argument("--rate", default="1gbit", help="of each link and direction, as tc writes it (default: %(default)s)")
    parser.add_argument("--hidden", type=int, default=1024, help="width of the two hidden layers (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    reason = namespaces.missing()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    print("| workers on each host | sync.hierarchy | bytes an iteration | seconds an iteration |", "| --- | --- | --- | --- |", sep="\n")
    with namespaces.Network(hosts=3, rate=options.rate) as network:
        for workers in options.workers:
            best = {}
            for _ in range(options.rounds):  # in turns, so that what else the machine does meets all alike
                for mode in MODES:
                    found = measure(options.build.resolve(), network, workers, mode, options.iterations, options.hidden)
                    if mode not in best or found.seconds_per_iteration < best[mode].seconds_per_iteration:
                        best[mode] = found
            for mode, found in best.items():
                print(f"| {workers} | {mode} | {found.bytes_per_iteration:.0f} | {found.seconds_per_iteration:.4f} |", flush=True)


if __name__ == "__main__":
    main()
