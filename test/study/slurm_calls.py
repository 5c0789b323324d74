#!/usr/bin/env python3
"""What a job with 16 workers asks of Slurm's controller: slurm_calls.py PROVIDER_TEST [WORKERS_PER_JOB]

Starts a Slurm of its own (test/support/slurm_cluster.py), lets the provider have 16 machines for a minute, and prints the remote procedure
calls of that time, as sdiag counts them. The calls of Slurm's own daemons are left out."""

import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import slurm_cluster  # noqa: E402

OF_DAEMONS = ("MESSAGE_", "REQUEST_COMPLETE_BATCH_SCRIPT", "REQUEST_STEP_COMPLETE", "REQUEST_NODE_REGISTRATION", "REQUEST_PING", "REQUEST_STATS_INFO")


def calls(environment):
    said = subprocess.run(["sdiag"], env=environment, check=True, capture_output=True, text=True).stdout
    found = {name: int(count) for name, count in re.findall(r"^\s+([A-Z_]+)\s+\(\s*\d+\) count:(\d+)", said, re.M)}
    return {name: count for name, count in found.items() if not name.startswith(OF_DAEMONS)}


def main():
    program, each = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "1"
    with slurm_cluster.Cluster(nodes=1, cores=32) as cluster:
        environment = {**os.environ, **cluster.environment, "SCAVENGER_TEST_SLURM": "1", "SCAVENGER_TEST_WORKERS_PER_JOB": each}
        before, begin = calls(environment), time.monotonic()
        subprocess.run([program, "[.slurm_calls]"], env=environment, check=True, stdout=subprocess.DEVNULL)
        seconds, after = time.monotonic() - begin, calls(environment)
        while cluster.jobs() and time.monotonic() - begin < 150:  # the daemons would leave their steps behind
            time.sleep(0.5)
    total = 0
    for name, count in sorted(after.items()):
        if count > before.get(name, 0):
            print(f"{name:32} {count - before.get(name, 0):6}")
            total += count - before.get(name, 0)
    print(f"{'all':32} {total:6} in {seconds:.0f} s")


if __name__ == "__main__":
    main()
