"""A job over several hosts: network namespaces of this machine, each with its own address and cable. Needs root."""

import json
import pathlib
import signal
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from running_job import listening_ports  # noqa: E402

sys.path.insert(0, str(job.SOURCE / "test" / "support"))
import namespaces  # noqa: E402

SMALL = [job.CONFIGS / "synthetic_mlp.json", "--set", "stop.target=null", "--quiet", "--set", "model.hidden=[64,32]",
         "--set", "cluster.threads_per_worker=1", "--set", "sync.transport=tcp"]
FRAME = b"SCV1" + struct.pack("<H", 1)  # how every frame begins, in clear


def on_hosts(hosts, workers=1):
    """What puts a job's workers on these hosts, with the controller on the first."""
    return ["--set", "cluster.hosts=" + json.dumps([{"name": host.name, "address": host.address, "workers": workers,
                                                     "launch": host.prefix} for host in hosts]),
            "--set", f"cluster.listen_address={hosts[0].address}", "--workers", len(hosts) * workers]


@unittest.skipIf(namespaces.missing(), namespaces.missing())
class HostsTest(job.JobTest):
    def setUp(self):
        super().setUp()
        self.network = namespaces.Network(hosts=3)
        self.network.__enter__()
        self.addCleanup(self.network.remove)
        self.hosts = self.network.hosts
        self.here = None  # the host that scavenger-train runs on

    def command(self, *arguments):
        words = super().command(*arguments)
        return self.here.command(*words) if self.here else words

    def weights_of(self, name, *arguments):
        self.train(*SMALL, "--run", self.run_folder(name), "--set", "stop.max_epochs=2", *arguments)
        return job.last_weights(self.run_folder(name))

    def start_on_hosts(self, *arguments):
        self.here = self.hosts[0]
        process = self.start(*SMALL, "--run", self.run_folder(), "--set", "stop.max_epochs=100000",
                             *on_hosts(self.hosts), *arguments)
        self.wait_for_event(self.run_folder(), "iterations")
        return process

    def assert_goes_on(self, process):
        count = len(job.trained(self.run_folder()))
        self.wait_for_event(self.run_folder(), "iterations", count=count + 3)
        self.assertIsNone(process.poll())

    def finish(self, process):
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=180)
        self.assertEqual(process.returncode, 130, output)

    def processes(self, role):
        return [event["pid"] for event in job.events(self.run_folder(), "process_started") if event["role"] == role]

    # ---- Where a process runs changes no bit. ----

    def test_over_hosts_a_job_reaches_the_same_bits_as_on_one(self):
        on_one = self.weights_of("one", "--workers", 3)
        self.here = self.hosts[0]

        self.assertEqual(self.weights_of("spread", *on_hosts(self.hosts)), on_one)
        self.assertEqual(self.weights_of("controller", *on_hosts(self.hosts), "--set", "ps.placement=controller"),
                         on_one)
        shards = [event for event in job.events(self.run_folder("spread"), "process_started")
                  if event["role"] == "shard"]
        self.assertEqual(len(shards), 3)

    # ---- What others on the network hear and may do. ----

    def test_a_listener_on_the_network_hears_no_float_and_no_hello(self):
        capture = self.folder / "heard"
        ear = subprocess.Popen(namespaces.eavesdrop(self.network, "port1", capture))
        self.addCleanup(lambda: (ear.kill(), ear.wait()))
        process = self.start_on_hosts()
        self.assert_goes_on(process)
        self.finish(process)
        heard = capture.read_bytes()

        self.assertGreater(len(heard), 100_000)
        self.assertIn(b"scavenger 1 ", heard)  # the name of the key, which begins each connection
        self.assertNotIn(b"SCVHELLO", heard)
        self.assertNotIn(FRAME, heard)
        self.assertNotIn(b"heartbeat", heard)

    def test_a_clear_hello_from_another_host_gets_no_answer_and_harms_nobody(self):
        process = self.start_on_hosts()
        hello = b"SCVHELLO" + struct.pack("<I", 1) + bytes(48)
        endpoints = [(address, port) for pid in [process.pid, *self.processes("shard")]
                     for address, port in listening_ports(pid) if address != "127.0.0.1"]  # the live page is there

        for address, port in endpoints:
            answer = subprocess.run(self.hosts[2].command(sys.executable, "-c", ASK, address, port),
                                    input=hello * 10, capture_output=True, timeout=180)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            self.assertLess(len(answer.stdout), 20, answer.stdout)  # an alert of TLS at most

        self.assertEqual(len(endpoints), 4)
        self.assertEqual({address for address, _ in endpoints}, {host.address for host in self.hosts})
        self.assert_goes_on(process)
        self.finish(process)
        self.assertIn("does not show that it knows the job's secret",
                      (self.run_folder() / "logs" / "shard_1.log").read_text())

    # ---- Cables that are pulled. ----

    def test_a_cable_that_is_out_for_a_moment_changes_no_bit(self):
        undisturbed = self.weights_of("undisturbed", "--workers", 3, "--set", "stop.max_epochs=40")
        self.here = self.hosts[0]
        process = self.start(*SMALL, "--run", self.run_folder(), *on_hosts(self.hosts), "--set", "stop.max_epochs=40",
                             "--set", "limits.heartbeat_seconds=20")
        self.wait_for_event(self.run_folder(), "iterations")
        self.hosts[1].unplug()
        time.sleep(1.0)
        self.hosts[1].plug_in()
        output, _ = process.communicate(timeout=120)

        self.assertEqual(process.returncode, 0, output)
        self.assertEqual(job.events(self.run_folder(), "process_lost"), [])
        self.assertEqual(job.last_weights(self.run_folder()), undisturbed)

    def test_a_host_that_is_cut_off_is_left_out_and_taken_in_again(self):
        process = self.start_on_hosts("--set", "ps.placement=controller", "--set", "limits.heartbeat_seconds=3")
        cut_off = self.processes("worker")[2]
        self.hosts[2].unplug()
        lost = self.wait_for_event(self.run_folder(), "process_lost")[0]
        self.assertEqual((lost["role"], lost["index"]), ("worker", 2))
        self.assertFalse(pathlib.Path(f"/proc/{cut_off}").exists(), "it could come back and write")
        self.wait_for_memberships([3, 2])
        self.assert_goes_on(process)  # while it is cut off
        self.hosts[2].plug_in()
        self.wait_for_memberships([3, 2, 3])
        self.assert_goes_on(process)
        self.finish(process)

        for membership in job.events(self.run_folder(), "membership"):  # no sample twice, none left out
            self.assertEqual(membership["position"], membership["first_iteration"] * membership["batch_size"])
        self.assertEqual([event["membership_epoch"] for event in job.events(self.run_folder(), "membership")],
                         [1, 2, 3])

    def test_a_worker_that_outlives_its_loss_and_comes_back_changes_nothing(self):
        # As over ssh: whoever kills the launching words does not reach the worker.
        launch = [[*host.prefix, "sh", "-c", 'setsid -f "$0" "$@"; exec sleep 1000'] for host in self.hosts]
        hosts = [{"name": host.name, "address": host.address, "workers": 1, "launch": words}
                 for host, words in zip(self.hosts, launch)]
        exact = ["--set", "optimizer.learning_rate=0.02", "--set", "limits.heartbeat_seconds=3",
                 "--set", "ps.placement=controller"]  # a rate at which rounding does not grow
        self.here = self.hosts[0]
        process = self.start(*SMALL, *exact, "--run", self.run_folder(), "--set", "stop.max_epochs=100000",
                             *on_hosts(self.hosts), "--set", "cluster.hosts=" + json.dumps(hosts))
        self.wait_for_event(self.run_folder(), "iterations")
        alone = {pid for pid in job.processes_of(self.folder) if name_of(pid) == "scavenger-worke"
                 and network_of(pid) == network_of_host(self.hosts[2])}
        self.assertEqual(len(alone), 1)
        self.hosts[2].unplug()
        self.wait_for_memberships([3, 2])
        self.assertTrue(all(pathlib.Path(f"/proc/{pid}").exists() for pid in alone), "it was to live on")
        self.hosts[2].plug_in()
        self.wait_for_memberships([3, 2, 3])
        self.assert_goes_on(process)
        self.finish(process)

        whole = job.events(self.run_folder(), "end")[-1]["iteration"]
        self.train(*SMALL, *exact, "--run", self.run_folder("undisturbed"), "--workers", 3,
                   "--set", "stop.max_epochs=100000", "--set", f"stop.max_iterations={whole}")
        self.assertLess(job.largest_difference(job.last_weights(self.run_folder()),
                                               job.last_weights(self.run_folder("undisturbed"))), 1e-4)

    def wait_for_memberships(self, workers):
        self.wait_for_event(self.run_folder(), "membership", count=len(workers))
        self.assertEqual([event["workers"] for event in job.events(self.run_folder(), "membership")], workers)


def name_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def network_of(pid):
    return pathlib.Path(f"/proc/{pid}/ns/net").readlink()


def network_of_host(host):
    return pathlib.Path(subprocess.run(host.command("readlink", "/proc/self/ns/net"), capture_output=True, text=True,
                                       check=True).stdout.strip())


# Says what comes on standard input to an address, and prints the answer up to the end of the connection.
ASK = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as connection:
    connection.settimeout(12)
    try:
        connection.sendall(sys.stdin.buffer.read())
        while piece := connection.recv(4096):
            sys.stdout.buffer.write(piece)
    except ConnectionError:
        pass
"""


if __name__ == "__main__":
    job.main()
