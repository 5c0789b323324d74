"""A job is killed at its requests to the cloud, before and after the request is carried out; the next process of the same job leaves
nothing behind: controller_kill_test.py GCP_JOB FAKE_GCE.

It is killed at each request that differs: at the first of each kind (a list, a bulkInsert, a wait, ...) after each number of changes that were
asked for before it; between two changes the cloud stays what it is, so further requests of that kind find the same there.
SCAVENGER_KILL_AT_EACH=1 kills at all requests by their number instead, SCAVENGER_KILL_AT_EACH=51:100 at these: they take minutes.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

JOB, FAKE = sys.argv[1:3]
TIME_SCALE = 300
UNDISTURBED = 3  # jobs, to see which requests there are: their order is not always the same
TRIES = 3  # for the same reason
# Of two workers that are asked for together one finds no room, and is asked for again elsewhere.
SETTINGS = {"zones": {"us-central1-a": {"*": 1}, "us-central1-b": {"*": 9}}, "machine_types": {"e2-standard-2": [2, 8], "n2d-standard-2": [2, 8]},
            "accounts": {"developer@demo": {"token": "dev"}}, "time_scale": TIME_SCALE}
CHANGES = {"POST instances/bulkInsert", "POST instances", "POST instances/NAME/setMetadata", "DELETE instances/NAME"}


def make_certificate(folder):
    files = [folder / "key.pem", folder / "certificate.pem"]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=scavenger", "-keyout", files[0], "-out", files[1]],
                   check=True, capture_output=True)
    return files[1].read_text()


class KilledJob(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        settings = self.folder / "settings.json"
        settings.write_text(json.dumps(SETTINGS | {"guest_attributes": {"scavenger/certificate": make_certificate(self.folder)}}))
        self.fake = subprocess.Popen([sys.executable, FAKE, "--settings", str(settings), "--with-parent"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.fake.stdout.close)
        self.addCleanup(self.fake.wait)
        self.addCleanup(self.fake.terminate)
        self.endpoint = json.loads(self.fake.stdout.readline())["endpoint"]

    def ask(self, path, **parameters):
        with urllib.request.urlopen(f"{self.endpoint}{path}?{urllib.parse.urlencode(parameters)}") as reply:
            return json.load(reply)

    def start(self, run, **killed):
        job = subprocess.Popen([JOB, self.endpoint, str(self.folder / run), "0.3", str(TIME_SCALE)], stdin=subprocess.PIPE)
        if killed:
            self.ask("/fake/kill", pid=job.pid, **killed)
        job.stdin.write(b"go\n")
        job.stdin.close()
        return job

    def undisturbed_requests(self, run):
        """Of a job that nobody disturbs: [kind, changes before it]."""
        self.ask("/fake/watch")
        self.assertEqual(self.start(run).wait(timeout=60), 0)
        return self.ask("/fake/watch")["requests"]

    def instants(self):
        """At which to kill, as parameters of /fake/kill."""
        seen = [self.undisturbed_requests(f"undisturbed-{i}") for i in range(UNDISTURBED)]
        each = os.environ.get("SCAVENGER_KILL_AT_EACH")
        if each:
            first, last = map(int, each.split(":")) if ":" in each else (1, max(map(len, seen)))
            return [{"request": number} for number in range(first, last + 1)]
        positions = {(kind, changes) for requests in seen for kind, changes in requests}
        self.assertGreaterEqual({kind for kind, _ in positions}, CHANGES)
        return [{"kind": kind, "changes": changes} for kind, changes in sorted(positions)]

    def killed_run(self, name, **instant):
        """The run folder of a job that was killed at this request; or None, where none of a few jobs came by it."""
        for attempt in range(TRIES):
            run = f"{name}-{attempt}"
            code = self.start(run, **instant).wait(timeout=60)
            if code == -9:
                return run
            self.assertEqual(code, 0)
        return None

    def test_killed_at_requests(self):
        kills, killed, instants = 0, set(), self.instants()
        for number, instant in enumerate(instants):
            for when in ("before", "after"):
                run = self.killed_run(f"{when}-{number}", when=when, **instant)
                if run is None:
                    continue
                kills += 1
                killed.add((instant.get("kind"), when))
                with self.subTest(run, instant=instant):
                    self.assertEqual(self.start(run).wait(timeout=60), 0)
        time.sleep(0.5)
        ledger = self.ask("/fake/ledger")
        self.assertGreater(kills, len(instants))
        if "kind" in instants[0]:
            self.assertGreaterEqual(killed, {(kind, when) for kind in CHANGES for when in ("before", "after")})
        self.assertEqual([vm["name"] for vm in ledger["vms"] if vm["gone"] is None], [])
        names = [vm["name"] for vm in ledger["vms"]]
        self.assertEqual(len(names), len(set(names)))
        print(f"killed {kills} times, before and after {len(instants)} requests of {len({kind for kind, _ in killed})} kinds; {len(names)} VMs rented, all returned")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
