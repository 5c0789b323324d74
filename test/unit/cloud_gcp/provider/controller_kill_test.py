"""A job is killed at its requests to the cloud, before and after the request is carried out; the next process of the same job leaves
nothing behind: controller_kill_test.py GCP_JOB FAKE_GCE.

It is killed at each request that differs: at the first of each kind (a list, a bulkInsert, a wait, ...) after each number of changes that were
asked for before it; between two changes the cloud stays what it is, so further requests of that kind find the same there.
SCAVENGER_KILL_AT_EACH=1 kills at all requests by their number instead, SCAVENGER_KILL_AT_EACH=51:100 at these: they take minutes.
"""

import concurrent.futures
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

JOB, FAKE = sys.argv[1:3]
TIME_SCALE = 300
LANES = 4  # also how many undisturbed jobs show which requests there are: their order is not always the same
TRIES = 3  # for the same reason
PATIENCE_SECONDS = 120  # with a job that takes a second, on a machine that does much else
# Of two workers that are asked for together one finds no room, and is asked for again elsewhere.
SETTINGS = {"zones": {"us-central1-a": {"*": 1}, "us-central1-b": {"*": 9}}, "machine_types": {"e2-standard-2": [2, 8], "n2d-standard-2": [2, 8]},
            "accounts": {"developer@demo": {"token": "dev"}}, "time_scale": TIME_SCALE}
CHANGES = {"POST instances/bulkInsert", "POST instances", "POST instances/NAME/setMetadata", "DELETE instances/NAME"}


def make_certificate(folder):
    files = [folder / "key.pem", folder / "certificate.pem"]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=scavenger", "-keyout", files[0], "-out", files[1]],
                   check=True, capture_output=True)
    return files[1].read_text()


class Lane:
    """A cloud of its own with one job after the other: jobs wait most of their time, so several lanes run side by side."""

    def __init__(self, test, name, certificate):
        self.folder = test.folder / name
        self.folder.mkdir()
        settings = self.folder / "settings.json"
        settings.write_text(json.dumps(SETTINGS | {"guest_attributes": {"scavenger/certificate": certificate}}))
        self.fake = subprocess.Popen([sys.executable, FAKE, "--settings", str(settings), "--with-parent"], stdout=subprocess.PIPE, text=True)
        test.addCleanup(self.fake.stdout.close)
        test.addCleanup(self.fake.wait)
        test.addCleanup(self.fake.terminate)
        self.endpoint = json.loads(self.fake.stdout.readline())["endpoint"]
        self.killed = []  # (kind, when) of each kill
        self.problems = []

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

    def finish(self, run):
        """Runs a job to its end, which must be a good one."""
        code = self.start(run).wait(timeout=PATIENCE_SECONDS)
        if code != 0:
            self.problems.append(f"{run} ended with {code}")

    def undisturbed_requests(self, run):
        """Of a job that nobody disturbs: [kind, changes before it]."""
        self.ask("/fake/watch")
        self.finish(run)
        return self.ask("/fake/watch")["requests"]

    def killed_run(self, name, **instant):
        """The run folder of a job that was killed at this request; or None, where none of a few jobs came by it."""
        for attempt in range(TRIES):
            run = f"{name}-{attempt}"
            code = self.start(run, **instant).wait(timeout=PATIENCE_SECONDS)
            if code == -9:
                return run
            if code != 0:
                self.problems.append(f"{run}, not killed at {instant}, ended with {code}")
        return None

    def kill_at(self, number, when, instant):
        run = self.killed_run(f"{when}-{number}", when=when, **instant)
        if run is not None:
            self.killed.append((instant.get("kind"), when))
            self.finish(run)


class KilledJob(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        certificate = make_certificate(self.folder)
        self.lanes = [Lane(self, f"lane-{number}", certificate) for number in range(LANES)]

    def each_lane(self, action):
        with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
            return list(pool.map(action, self.lanes))

    def instants(self):
        """At which to kill, as parameters of /fake/kill."""
        seen = self.each_lane(lambda lane: lane.undisturbed_requests("undisturbed"))
        each = os.environ.get("SCAVENGER_KILL_AT_EACH")
        if each:
            first, last = map(int, each.split(":")) if ":" in each else (1, max(map(len, seen)))
            return [{"request": number} for number in range(first, last + 1)]
        positions = {(kind, changes) for requests in seen for kind, changes in requests}
        self.assertGreaterEqual({kind for kind, _ in positions}, CHANGES)
        return [{"kind": kind, "changes": changes} for kind, changes in sorted(positions)]

    def test_killed_at_requests(self):
        instants = self.instants()
        turns = queue.SimpleQueue()
        for turn in [(number, when, instant) for number, instant in enumerate(instants) for when in ("before", "after")]:
            turns.put(turn)

        def run_lane(lane):
            try:
                while True:
                    lane.kill_at(*turns.get_nowait())
            except queue.Empty:
                pass

        self.each_lane(run_lane)
        self.assertEqual([problem for lane in self.lanes for problem in lane.problems], [])
        killed = [kill for lane in self.lanes for kill in lane.killed]
        self.assertGreater(len(killed), len(instants))
        if "kind" in instants[0]:
            self.assertGreaterEqual(set(killed), {(kind, when) for kind in CHANGES for when in ("before", "after")})
        vms = [vm for lane in self.lanes for vm in self.returned_vms(lane)]
        print(f"killed {len(killed)} times, before and after {len(instants)} requests of {len({kind for kind, _ in killed})} kinds; "
              f"{len(vms)} VMs rented, all returned")

    def returned_vms(self, lane):
        """All that a lane has rented, when the last has been returned; no name is used twice."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        vms = lane.ask("/fake/ledger")["vms"]
        while any(vm["gone"] is None for vm in vms) and time.monotonic() < deadline:
            time.sleep(0.1)
            vms = lane.ask("/fake/ledger")["vms"]
        self.assertEqual([vm["name"] for vm in vms if vm["gone"] is None], [])
        names = [vm["name"] for vm in vms]
        self.assertEqual(len(names), len(set(names)))
        return vms


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
