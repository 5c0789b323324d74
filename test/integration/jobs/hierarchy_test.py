"""Workers of one host add up before one of them sends: the same training, fewer bytes between hosts, losses and resizes."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

sys.path.insert(0, str(job.SOURCE / "test" / "support"))
import hierarchy  # noqa: E402
import namespaces  # noqa: E402

CONFIG = [job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "stop.target=null", "--set", "batch_size=48",
          "--set", "optimizer.learning_rate=0.02", "--set", "sync.transport=tcp", "--set", "cluster.threads_per_worker=1"]
ON, OFF, GLOO = (["--set", f"sync.hierarchy={name}"] for name in ("on", "off", "gloo"))


class HierarchyTest(job.JobTest):
    """On this machine, which is one host."""

    def weights(self, name, *arguments):
        self.train(*CONFIG, "--set", "stop.max_iterations=150", "--run", self.run_folder(name), *arguments)
        return job.last_weights(self.run_folder(name))

    def test_it_trains_as_without_and_has_the_same_bits_each_time(self):
        flat = self.weights("flat", "--workers", 3, *OFF)
        self.assertEqual(self.weights("automatic", "--workers", 3), flat)  # one machine that nobody calls a host
        ours = self.weights("hierarchical", "--workers", 3, *ON)
        self.assertEqual(self.weights("again", "--workers", 3, *ON), ours)
        self.assertLess(job.largest_difference(ours, flat), 1e-5)
        self.assertEqual(self.weights("one", "--workers", 1, *ON), self.weights("one_flat", "--workers", 1, *OFF))

    def test_among_devices_it_trains_as_in_shared_memory(self):
        """With Gloo in place of NCCL, the rest of the code is the same."""
        ours = self.weights("collective", "--workers", 3, *GLOO)
        self.assertLess(job.largest_difference(ours, self.weights("memory", "--workers", 3, *ON)), 1e-5)
        self.assertEqual(self.weights("again", "--workers", 3, *GLOO), ours)
        norms = [[event["global_sqr_norm"] for event in job.events(self.run_folder(name), "iterations")][0][:10]
                 for name in ("collective", "memory")]
        for one, other in zip(*norms):
            self.assertAlmostEqual(one, other, delta=1e-3 * other)

    def test_losses_and_resizes_in_shared_memory(self):
        self.losses_and_resizes(ON)

    def test_losses_and_resizes_among_devices(self):
        self.losses_and_resizes(GLOO)

    def losses_and_resizes(self, mode):
        """The worker that sends for all is killed, and so is another one; then they become more and fewer."""
        run = self.run_folder()
        process = self.start(*CONFIG, *mode, "--set", "stop.max_epochs=100000", "--set", "evaluation.every_epochs=100000",
                             "--workers", 3, "--run", run)
        self.wait_for_event(run, "iterations", 2)
        pids = {event["index"]: event["pid"] for event in job.events(run, "process_started") if event["role"] == "worker"}
        for count, index in enumerate((0, 2), 1):
            os.kill(pids[index], signal.SIGKILL)
            self.wait_for_event(run, "process_lost", count)
            self.wait_for_event(run, "membership", 1 + 2 * count)  # without it, and with another one
            self.wait_for_event(run, "iterations", len(job.trained(run)) + 2)
        for workers in (4, 1, 2):
            done = subprocess.run([str(job.programs / "scavenger-ctl"), str(run), "resize", "--workers", str(workers), "--wait"],
                                  text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180, env=self.environment())
            self.assertEqual(done.returncode, 0, done.stdout)
            self.wait_for_event(run, "iterations", len(job.trained(run)) + 2)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=180)
        self.assertEqual(process.returncode, 130, output)
        done = 0
        for event in job.trained(run):
            self.assertEqual(event["first"], done)
            done += event["count"]
        self.assertEqual({event["iterations_lost"] for event in job.events(run, "recovery")}, {0})


@unittest.skipIf(namespaces.missing(), namespaces.missing())
class BytesTest(unittest.TestCase):
    def test_two_workers_of_a_host_send_half_the_bytes(self):
        with namespaces.Network(hosts=3) as network:
            flat, *others = (hierarchy.measure(job.programs.parent, network, 2, mode, iterations=30, hidden=64)
                             for mode in ("off", "on", "gloo"))
            for ours in others:
                ratio = flat.bytes_per_iteration / ours.bytes_per_iteration
                print(f"{ours.bytes_per_iteration:.0f} bytes an iteration at a host's link, and {flat.bytes_per_iteration:.0f} without: "
                      f"{ratio:.2f} times")
                self.assertGreater(ratio, 1.8)
                self.assertLess(job.largest_difference(flat.weights, ours.weights), 1e-4)


if __name__ == "__main__":
    job.main()
