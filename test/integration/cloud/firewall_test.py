"""A job on the fake Compute Engine, behind a firewall that lets nothing reach the controller's machine but the ports that its configuration names.

The firewall is policy routing in a network namespace of the test's own: whatever is neither to nor from an open port finds no way.
"""

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from fake_cloud import TOKEN, ledger_of, start_fake  # noqa: E402

CLONE_NEWNET = 0x40000000
CONTROLLER, SHARDS, CLOUD = 6000, (6001, 6002), 6090  # ports
VMS = "127.1.0.0/16"  # where the fake's VMs have their own metadata servers


def close_all_ports_but(ports):
    """On the first address of loopback, which is the controller's. Raises OSError or CalledProcessError where this machine cannot do it."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")

    def ip(words):
        subprocess.run(["ip", *words.split()], check=True, capture_output=True)

    ip("link set lo up")
    for port in ports:
        ip(f"rule add pref 10 ipproto tcp dport {port} lookup local")
        ip(f"rule add pref 11 ipproto tcp sport {port} lookup local")
    ip(f"rule add pref 12 from {VMS} lookup local")
    ip("rule add pref 13 ipproto tcp to 127.0.0.1 prohibit")
    ip("rule add pref 20 lookup local")
    ip("rule del pref 0")


@unittest.skipIf(os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("curl"), "a firewall of its own needs root, ip and curl")
class FirewallTest(job.JobTest):
    @classmethod
    def setUpClass(cls):
        try:
            close_all_ports_but([CONTROLLER, *SHARDS, CLOUD])
        except (OSError, subprocess.CalledProcessError) as error:
            raise unittest.SkipTest(f"this machine makes no network namespace with rules: {error}") from error

    def environment(self):
        return {**super().environment(), "SCAVENGER_GCP_TOKEN": TOKEN}

    def train_behind_it(self, port, check):
        settings = {"zones": {"us-central1-a": {"*": 4}}, "machine_types": {"e2-standard-2": [2, 8]}, "time_scale": 20}
        endpoint = start_fake(self, settings, "--vms", self.folder / "vms", "--port", str(CLOUD))
        provider = {"type": "gcp", "project": "demo", "zones": ["us-central1-a"], "spot": False, "endpoint": endpoint, "machine_types": ["e2-standard-2"],
                    "programs": str(job.programs), "controller_address": "127.0.0.1", "cool_down_seconds": 1, "watch_seconds": 1}
        said = self.train(job.CONFIGS / "gcp_spot.json", "--run", self.run_folder(), "--set", "provider=" + json.dumps(provider), "--workers", 2,
                          "--set", 'search.mode="off"', "--set", 'stop={"max_iterations":20}', "--set", "limits.start_seconds=120", "--set", f"cluster.port={port}",
                          "--set", f"ps.port={SHARDS[0]}", "--set", f"ps.shards={len(SHARDS)}", check=check, timeout=400)
        self.assertEqual([vm["name"] for vm in ledger_of(endpoint)["vms"] if vm["gone"] is None], [])
        return " ".join(said.split())

    def test_a_job_needs_the_ports_that_it_names_and_no_other(self):
        self.train_behind_it(CONTROLLER, check=0)
        self.assertEqual(job.report(self.run_folder())["status"], "max_iterations")
        self.assertEqual({event["role"] for event in job.events(self.run_folder(), "process_joined")}, {"shard", "worker"})

    def test_a_controller_behind_a_closed_port_says_that_nobody_comes(self):
        self.assertRegex(self.train_behind_it(6050, check=1), "cannot (reach|connect)|Permission denied")


if __name__ == "__main__":
    job.main()
