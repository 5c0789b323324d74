"""A job is killed at its requests to the cloud, before and after the request is carried out; the next process of the same job leaves
nothing behind: controller_kill_test.py GCP_JOB FAKE_GCE.

It is killed at each of the first requests, among which are those that rent, and at some of the rest, which mostly look whether
something has come to pass: how many there are depends on the machine. SCAVENGER_KILL_AT_EACH=1 kills at all of them.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

JOB, FAKE = sys.argv[1:3]
TIME_SCALE = 300
FIRST, OTHERS = 16, 12
SETTINGS = {"zones": {"us-central1-a": {"*": 9}, "us-central1-b": {"*": 9}}, "machine_types": {"e2-standard-2": [2, 8], "n2d-standard-2": [2, 8]},
            "accounts": {"developer@demo": {"token": "dev"}}, "time_scale": TIME_SCALE}


class KilledJob(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        settings = pathlib.Path(self.folder.name) / "settings.json"
        settings.write_text(json.dumps(SETTINGS))
        self.fake = subprocess.Popen([sys.executable, FAKE, "--settings", str(settings), "--with-parent"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.fake.stdout.close)
        self.addCleanup(self.fake.wait)
        self.addCleanup(self.fake.terminate)
        self.endpoint = json.loads(self.fake.stdout.readline())["endpoint"]

    def ask(self, path):
        with urllib.request.urlopen(self.endpoint + path) as reply:
            return json.load(reply)

    def start(self, run, killed=""):
        job = subprocess.Popen([JOB, self.endpoint, str(pathlib.Path(self.folder.name) / run), "0.3", str(TIME_SCALE)], stdin=subprocess.PIPE)
        if killed:
            self.ask(f"/fake/kill?pid={job.pid}&{killed}")
        job.stdin.write(b"go\n")
        job.stdin.close()
        return job

    def run_job(self, run):
        """All requests of a job that nobody disturbs."""
        before = self.ask("/fake/ledger")["requests"]
        self.assertEqual(self.start(run).wait(timeout=60), 0)
        return self.ask("/fake/ledger")["requests"] - before

    def instants(self, requests):
        later = range(FIRST + 1, requests + 1)
        step = 1 if os.environ.get("SCAVENGER_KILL_AT_EACH") else max(1, len(later) // OTHERS)
        return [*range(1, min(FIRST, requests) + 1), *later[::step]]

    def test_killed_at_requests(self):
        requests = self.run_job("undisturbed")
        self.assertGreater(requests, 10)
        kills, instants = 0, self.instants(requests)
        for number in instants:
            for when in ("before", "after"):
                run = f"{when}-{number}"
                kills += self.start(run, f"request={number}&when={when}").wait(timeout=60) == -9
                with self.subTest(run):
                    self.assertEqual(self.start(run).wait(timeout=60), 0)
        time.sleep(0.5)
        ledger = self.ask("/fake/ledger")
        self.assertGreater(kills, len(instants))
        self.assertEqual([vm["name"] for vm in ledger["vms"] if vm["gone"] is None], [])
        names = [vm["name"] for vm in ledger["vms"]]
        self.assertEqual(len(names), len(set(names)))
        print(f"killed {kills} times, at {len(instants)} of {requests} requests; {len(names)} VMs rented, all returned")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
