"""A job is killed at its requests to a cluster, before and after the request is carried out; the next process of the same job leaves
nothing behind: controller_kill_test.py KUBERNETES_JOB FAKE_KUBERNETES.

It is killed at each request that differs: at the first of each kind (a list, a watch, POST pods, ...) after each number of changes that
were asked for before it; between two changes the cluster stays what it is, so further requests of that kind find the same there.
"""

import concurrent.futures
import json
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
LANES = 4  # also how many undisturbed jobs show which requests there are: their order is not always the same
TRIES = 3  # for the same reason
PATIENCE_SECONDS = 120  # with a job that takes a second, on a machine that does much else
SETTINGS = {"nodes": {"node-a": {"cpu": 64}}, "start_seconds": 0.02}
CHANGES = {"POST pods", "POST secrets", "DELETE pods/NAME"}


class Lane:
    """A cluster of its own with one job after the other: jobs wait most of their time, so several lanes run side by side."""

    def __init__(self, test, name):
        self.folder = test.folder / name
        self.folder.mkdir()
        settings = self.folder / "settings.json"
        settings.write_text(json.dumps(SETTINGS))
        self.kubeconfig = self.folder / "kubeconfig"
        self.fake = subprocess.Popen([sys.executable, FAKE, "--settings", settings, "--kubeconfig", self.kubeconfig, "--with-parent"], stdout=subprocess.PIPE, text=True)
        test.addCleanup(self.fake.stdout.close)
        test.addCleanup(self.fake.wait)
        test.addCleanup(self.fake.terminate)
        self.endpoint = json.loads(self.fake.stdout.readline())["endpoint"]
        self.killed = []  # (kind, when) of each kill
        self.problems = []

    def ask(self, what, **parameters):
        with urllib.request.urlopen(f"{self.endpoint}/fake/{what}?{urllib.parse.urlencode(parameters)}") as reply:
            return json.load(reply)

    def start(self, run, **killed):
        job = subprocess.Popen([JOB, self.kubeconfig, self.folder / run, "0.3"], stdin=subprocess.PIPE)
        if killed:
            self.ask("kill", pid=job.pid, **killed)
        job.stdin.write(b"go\n")
        job.stdin.close()
        return job

    def finish(self, run):
        """Runs a job to its end, which must be a good one."""
        code = self.start(run).wait(timeout=PATIENCE_SECONDS)
        if code != 0:
            self.problems.append(f"{run} ended with {code}")

    def undisturbed_requests(self):
        """Of a job that nobody disturbs: [kind, changes before it]."""
        self.ask("watch")
        self.finish("undisturbed")
        return self.ask("watch")["requests"]

    def kill_at(self, number, when, kind, changes):
        for attempt in range(TRIES):
            run = f"{when}-{number}-{attempt}"
            code = self.start(run, when=when, kind=kind, changes=changes).wait(timeout=PATIENCE_SECONDS)
            if code == -9:
                self.killed.append((kind, when))
                self.finish(run)
                return
            if code != 0:
                self.problems.append(f"{run}, not killed at {kind}, ended with {code}")


class KilledJob(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.lanes = [Lane(self, f"lane-{number}") for number in range(LANES)]

    def each_lane(self, action):
        with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
            return list(pool.map(action, self.lanes))

    def test_killed_at_requests(self):
        seen = self.each_lane(Lane.undisturbed_requests)
        instants = sorted({(kind, changes) for requests in seen for kind, changes in requests})
        self.assertGreaterEqual({kind for kind, _ in instants}, CHANGES)
        turns = queue.SimpleQueue()
        for turn in [(number, when, *instant) for number, instant in enumerate(instants) for when in ("before", "after")]:
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
        self.assertGreaterEqual(set(killed), {(kind, when) for kind in CHANGES for when in ("before", "after")})
        pods = [pod for lane in self.lanes for pod in self.returned_pods(lane)]
        print(f"killed {len(killed)} times, before and after {len(instants)} requests of {len({kind for kind, _ in killed})} kinds; "
              f"{len(pods)} Pods, all gone")

    def returned_pods(self, lane):
        """All that a lane has had, when the last is gone, with its Secret; none was made twice."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        ledger = lane.ask("ledger")
        while (any(pod["gone"] is None for pod in ledger["pods"]) or ledger["secrets"]) and time.monotonic() < deadline:
            time.sleep(0.1)
            ledger = lane.ask("ledger")
        self.assertEqual([pod["name"] for pod in ledger["pods"] if pod["gone"] is None], [])
        self.assertEqual(ledger["secrets"], [])
        self.assertEqual([name for name, count in ledger["creations"].items() if count != 1], [])
        return ledger["pods"]


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
