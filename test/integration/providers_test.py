"""Providers on what they are for: a real sshd, a real Slurm. Each passes the contract of providers, and trains a job."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import job

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import slurm_cluster  # noqa: E402
import ssh_server  # noqa: E402

SMALL = [job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "cluster.threads_per_worker=1", "--workers", 2]
ENDLESS = [*SMALL, "--set", "stop.target=null", "--set", "stop.max_epochs=100000"]


class ProviderTest(job.JobTest):
    """`self.extra`: environment in which the provider's service is found."""

    extra = {}

    def environment(self):
        return {**super().environment(), **self.extra}

    def assert_conforms(self, tag):
        conformance = job.programs.parent / "test" / "provider_test"
        done = subprocess.run([conformance, tag], env=self.environment(), capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("skipped", done.stdout)
        self.assertIn("All tests passed", done.stdout)

    def provider(self, **settings):
        return ["--set", "provider=" + json.dumps(settings)]

    def machines(self, change):
        return [event for event in job.events(self.run_folder(), "machine") if event["change"] == change]

    def assert_trains(self, provider):
        """With a worker that is killed on its way."""
        process = self.start(*ENDLESS, "--run", self.run_folder(), *provider)
        self.wait_for_event(self.run_folder(), "iterations", count=3)
        joined = job.events(self.run_folder(), "process_joined")
        os.kill(next(event["pid"] for event in joined if event["role"] == "worker"), signal.SIGKILL)
        self.wait_for_event(self.run_folder(), "membership", count=3, timeout=120)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, output)
        report = job.report(self.run_folder())
        self.assertEqual(report["totals"]["iterations_repeated"], 0)
        self.assertGreater(report["totals"]["cost"], 0)
        self.assertEqual(sorted(event["name"] for event in self.machines("ready")),
                         sorted(event["name"] for event in self.machines("released")
                                if not event["name"].startswith("request-")))
        return report


@unittest.skipIf(ssh_server.missing(), f"ssh: {ssh_server.missing()}")
class SshTest(ProviderTest):
    def setUp(self):
        super().setUp()
        self.server = ssh_server.Server()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        self.extra = {"SCAVENGER_TEST_SSH_CONFIG": str(self.server.config), "SCAVENGER_TEST_PROGRAMS": str(job.programs)}

    def over_ssh(self, **more):
        hosts = [{"destination": "127.0.0.1", "address": "127.0.0.1", "workers": 2, "price_per_hour": 0.5}]
        return self.provider(type="ssh", hosts=hosts, options=["-F", str(self.server.config)], **more)

    def test_ssh_keeps_the_contract(self):
        self.assert_conforms("[ssh]")

    def test_a_job_over_ssh_loses_a_worker_and_goes_on(self):
        self.assert_trains(self.over_ssh())

    def test_hosts_without_the_programs_end_the_job_only_where_nobody_else_is_left(self):
        output = self.start(*ENDLESS, "--run", self.run_folder(), *self.over_ssh(program_folder="/no/such"))
        refused = self.wait_for_event(self.run_folder(), "machine", count=4)
        self.assertTrue(any("/no/such/scavenger-worker" in event["reason"] for event in refused))
        output.send_signal(signal.SIGINT)
        self.assertEqual(output.wait(timeout=30), 130)

    def test_a_killed_controller_leaves_no_worker_on_the_hosts(self):
        process = self.start(*ENDLESS, "--run", self.run_folder(), *self.over_ssh())
        self.wait_for_event(self.run_folder(), "iterations")
        process.kill()
        process.wait()  # and nothing may be left, as after each test


@unittest.skipIf(slurm_cluster.missing(), f"slurm: {slurm_cluster.missing()}")
class SlurmTest(ProviderTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm_cluster.Cluster(nodes=2)  # of two processors each
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.extra = {name: cls.cluster.environment[name] for name in ("PATH", "SLURM_CONF")}
        cls.extra["SCAVENGER_TEST_SLURM"] = "1"

    def assert_no_job_is_left(self):
        deadline = time.monotonic() + 30
        while self.cluster.jobs() and time.monotonic() < deadline:
            time.sleep(0.2)
        self.assertEqual(self.cluster.jobs(), [])

    def on_slurm(self):
        return self.provider(type="slurm", price_per_hour=0.5)

    def test_slurm_keeps_the_contract(self):
        self.assert_conforms("[slurm]")
        self.assert_no_job_is_left()

    def test_a_job_on_slurm_loses_a_worker_and_goes_on(self):
        self.assert_trains(self.on_slurm())
        self.assert_no_job_is_left()

    def test_a_slurm_job_that_is_signalled_is_left_at_a_boundary(self):
        process = self.start(*ENDLESS, "--run", self.run_folder(), *self.on_slurm())
        self.wait_for_event(self.run_folder(), "iterations")
        name = next(event["name"] for event in self.machines("ready") if event["worker"] == 1)
        subprocess.run(["scancel", "--signal=TERM", name.split("-")[1]], env=self.environment(), check=True)
        memberships = self.wait_for_event(self.run_folder(), "membership", count=3)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 130)
        self.assertEqual([event["reason"] for event in memberships[1:3]], ["a worker leaves", "a worker has come"])
        self.assertEqual(job.report(self.run_folder())["totals"]["iterations_repeated"], 0)
        self.assert_no_job_is_left()

    def test_what_a_killed_controller_leaves_in_slurm_is_cleaned(self):
        process = self.start(*ENDLESS, "--run", self.run_folder(), *self.on_slurm())
        self.wait_for_event(self.run_folder(), "iterations")
        process.kill()
        process.wait()
        done = subprocess.run([job.programs / "scavenger-ctl", "clean"], env=self.environment(), capture_output=True, text=True)
        self.assertIn("Slurm job", done.stdout)
        self.assert_no_job_is_left()


if __name__ == "__main__":
    job.main()
