"""Jobs whose workers are VMs of the fake Compute Engine (test/fake_gce): real training, and real processes that boot by the startup script,
are preempted, and delete themselves."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
import urllib.request

import job

FAKE = job.SOURCE / "test" / "fake_gce" / "fake_gce.py"
TIME_SCALE = 20  # an insert takes a second, half of the VMs die in their first half minute


@unittest.skipIf(shutil.which("curl") is None, "there is no curl, which the VMs' startup script uses")
class ComputeEngineTest(job.JobTest):
    def setUp(self):
        super().setUp()
        settings = {"zones": {"us-central1-a": {"*": 3}, "us-central1-b": {"*": 3}}, "time_scale": TIME_SCALE, "seed": 3,
                    "machine_types": {"n2d-standard-2": [2, 8], "e2-standard-2": [2, 8]},
                    "accounts": {"developer@demo": {"token": "dev"}}, "spot_lives": {"early_share": 0.5, "early_hours": 0.08, "mean_hours": 0.3},
                    "faults": {"reply_lost": 0.05, "error_before": 0.05, "rate_limit": 0.01, "stock_out": 0.1, "no_notice": 0.5}}
        (self.folder / "cloud.json").write_text(json.dumps(settings))
        self.fake = subprocess.Popen([sys.executable, FAKE, "--settings", self.folder / "cloud.json", "--vms", self.folder / "vms", "--with-parent"],
                                     stdout=subprocess.PIPE, text=True, env=self.environment())
        self.addCleanup(self.fake.stdout.close)
        self.addCleanup(self.fake.wait)
        self.addCleanup(self.fake.terminate)
        self.endpoint = json.loads(self.fake.stdout.readline())["endpoint"]

    def environment(self):
        return {**super().environment(), "SCAVENGER_GCP_TOKEN": "dev"}

    def options(self):
        provider = {"type": "gcp", "project": "demo", "zones": ["us-central1-a", "us-central1-b"], "spot": True, "endpoint": self.endpoint,
                    "machine_types": ["n2d-standard-2", "e2-standard-2"], "programs": str(job.programs), "controller_address": "127.0.0.1",
                    "cool_down_seconds": 1, "watch_seconds": 1}
        return [job.CONFIGS / "gcp_spot.json", "--run", self.run_folder(), "--set", "provider=" + json.dumps(provider)]

    def ledger(self):
        with urllib.request.urlopen(self.endpoint + "/fake/ledger") as reply:
            return json.load(reply)

    def assert_all_returned(self, timeout=60):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and any(vm["gone"] is None for vm in self.ledger()["vms"]):
            time.sleep(0.5)
        self.assertEqual([vm["name"] for vm in self.ledger()["vms"] if vm["gone"] is None], [])

    def test_search_on_spot_vms_that_are_preempted(self):
        self.train(*self.options(), "--set", "limits.start_seconds=120")
        ledger = self.ledger()
        self.assertEqual([vm["name"] for vm in ledger["vms"] if vm["gone"] is None], [], "the job ended before all was returned")
        report = job.report(self.run_folder())
        self.assertEqual(report["status"], "target_reached")
        changes = [event["change"] for event in job.events(self.run_folder(), "machine")]
        self.assertGreaterEqual(changes.count("ready"), 2)
        print(f"{len(ledger['vms'])} VMs, {sum(vm['preempted'] for vm in ledger['vms'])} preempted; cost {report['totals']['cost']:.5f}")
        everything = "".join(path.read_text(errors="replace") for path in self.run_folder().rglob("*") if path.suffix in (".log", ".json", ".jsonl"))
        self.assertNotIn("Bearer", everything)

    def test_vms_of_a_killed_controller_delete_themselves_and_the_job_goes_on(self):
        process = self.start(*self.options(), "--set", "limits.start_seconds=120")
        self.wait_for_event(self.run_folder(), "iterations", 3, timeout=120)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        self.assert_all_returned()
        self.train("--resume", self.run_folder())
        self.assertEqual(job.report(self.run_folder())["status"], "target_reached")
        self.assert_all_returned(timeout=1)


if __name__ == "__main__":
    job.main()
