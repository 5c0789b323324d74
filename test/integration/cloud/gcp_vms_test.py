"""A job that finds its machine type on the fake Compute Engine: types without stock, auditions, and VMs that are preempted in between."""

import json
import pathlib
import shutil
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from fake_cloud import TOKEN, ledger_of, start_fake  # noqa: E402

TIME_SCALE = 40  # of the cloud: an insert takes half a second
ZONE = "us-central1-a"
# All VMs are processes of this machine, and equally fast. But the catalogue says that more vCPUs are more, and so the job wants to know.
# Per core of a spot VM they cost more and more in this order.
FIRST, WITHOUT_STOCK, OTHERS = "n2d-standard-2", "c3-standard-8", ("t2d-standard-4", "n1-standard-4")


@unittest.skipIf(shutil.which("curl") is None, "there is no curl, which the VMs' startup script uses")
class VmsOnComputeEngineTest(job.JobTest):
    def setUp(self):
        super().setUp()
        self.endpoint = None

    def begin_cloud(self, **room):
        types = {FIRST: [2, 8], WITHOUT_STOCK: [8, 32], "t2d-standard-4": [4, 16], "n1-standard-4": [4, 15]}
        settings = {"zones": {ZONE: {"*": 4, WITHOUT_STOCK: 0, **room}}, "time_scale": TIME_SCALE, "seed": 5, "machine_types": types,
                    "spot_lives": {"early_share": 0.0, "mean_hours": 1e6}, "faults": {"error_before": 0.02, "reply_lost": 0.02}}
        self.endpoint = start_fake(self, settings, "--vms", self.folder / "vms")

    def environment(self):
        return {**super().environment(), "SCAVENGER_GCP_TOKEN": TOKEN}

    def options(self, stop):
        provider = {"type": "gcp", "project": "demo", "zones": [ZONE], "spot": True, "endpoint": self.endpoint, "programs": str(job.programs),
                    "machine_types": [FIRST, WITHOUT_STOCK, *OTHERS], "controller_address": "127.0.0.1", "cool_down_seconds": 1, "wait_seconds": 2,
                    "watch_seconds": 1, "vms": {"max_vms": 3, "profile_budget": 10}}
        return [job.CONFIGS / "gcp_spot.json", "--run", self.run_folder(), "--set", "provider=" + json.dumps(provider), "--vms", "auto",
                "--policy", "min-time", "--set", 'search.mode="off"', "--set", "model.hidden=[256,256]", "--set", "batch_size=512",
                "--set", "optimizer.schedule=" + json.dumps({"type": "constant"}), "--set", "optimizer.learning_rate=0.0015",
                "--set", "optimizer.momentum=0", "--set", "batching.dynamic=true", "--set", "cluster.threads_per_worker=1",
                "--set", "limits.start_seconds=120", "--set", "stop=" + json.dumps(stop)]

    def steps(self, *phases):
        return [step for step in job.events(self.run_folder(), "vm_step") if not phases or step["phase"] in phases]

    def machines(self, change):
        return [event for event in job.events(self.run_folder(), "machine") if event["change"] == change]

    def preempt(self, machine):
        urllib.request.urlopen(f"{self.endpoint}/fake/preempt?zone={ZONE}&name={machine['name']}").close()

    def auditioned(self):
        """The VM of the audition that goes on, once its worker trains; and its type."""
        steps = self.steps()
        if not steps or steps[-1]["phase"] not in ("audition", "probing"):
            return None
        ready = {event["worker"]: event for event in self.machines("ready")}
        machine = ready.get(steps[-1]["worker"])
        memberships = job.events(self.run_folder(), "membership")
        trains = machine and memberships and machine["worker"] in memberships[-1]["indices"]
        return machine if trains and machine["machine_type"] == steps[-1]["machine_type"] else None

    def trained_alone_on(self, machine_type):
        """Whether all workers of some membership were of this type: a trial measures it there."""
        kinds, alone = {}, False
        for event in job.events(self.run_folder()):
            if event["event"] == "machine" and event["change"] == "ready":
                kinds[event["worker"]] = event["machine_type"]
            elif event["event"] == "membership":
                alone = alone or {kinds[worker] for worker in event["indices"]} == {machine_type}
        return alone

    def assert_every_sample_counts_and_nothing_is_left(self):
        for membership in job.events(self.run_folder(), "membership"):
            self.assertEqual((membership["batch_size"], sum(membership["shares"])), (512, 512))
            self.assertEqual(membership["position"], membership["first_iteration"] * 512)
        ledger = ledger_of(self.endpoint)
        self.assertEqual([vm["name"] for vm in ledger["vms"] if vm["gone"] is None], [], "the job ended before all was returned")
        self.assertEqual(ledger["violations"], [])
        return ledger

    def test_a_job_whose_first_type_is_out_of_stock_begins_on_the_next_one(self):
        self.begin_cloud(**{FIRST: 0, "t2d-standard-4": 0})
        self.train(*self.options({"max_iterations": 120}))
        # On a busy machine the job has the time to go on to another number of VMs of the only type that can be had.
        self.assertEqual([step["machine_type"] for step in self.steps("begun")][:2], [FIRST, "n1-standard-4"])
        self.assertEqual({event["machine_type"] for event in self.machines("ready")}, {"n1-standard-4"})
        self.assertTrue(self.trained_alone_on("n1-standard-4"))
        self.assertEqual(job.report(self.run_folder())["status"], "max_iterations")
        self.assert_every_sample_counts_and_nothing_is_left()

    def test_a_job_auditions_types_though_one_is_out_of_stock_and_vms_are_preempted(self):
        self.begin_cloud()
        said = self.folder / "said"
        output = open(said, "w")
        self.addCleanup(output.close)
        process = self.start(*self.options({"target": {"metric": "accuracy", "value": 0.76}, "max_epochs": 400}), output=output)
        preempted = None
        deadline = time.monotonic() + 400
        while process.poll() is None:
            self.assertLess(time.monotonic(), deadline, self.steps())
            machine = None if preempted else self.auditioned()
            if machine:  # the first that is there at all
                self.preempt(machine)
                preempted = machine
            time.sleep(0.05)
        story = said.read_text() + json.dumps(self.steps(), indent=1)
        self.assertEqual(process.returncode, 0, story)
        report = job.report(self.run_folder())
        self.assertEqual(report["status"], "target_reached", story)
        # It began with the cheapest type, and asked for the one without stock: nothing came of that.
        self.assertEqual(self.steps()[0]["machine_type"], FIRST, story)
        auditions = [step["machine_type"] for step in self.steps("audition")]
        self.assertIn(WITHOUT_STOCK, auditions, story)
        self.assertEqual(len(auditions), len(set(auditions)), story)
        types = {event["machine_type"] for event in self.machines("ready")}
        self.assertNotIn(WITHOUT_STOCK, types)
        self.assertTrue(any("can be had" in step["reason"] or "no machine" in step["reason"] for step in self.steps("dismissed")), story)
        self.assertTrue(self.trained_alone_on(FIRST), story)
        # One VM was taken in its audition.
        self.assertIsNotNone(preempted, story)
        self.assertEqual([vm["name"] for vm in ledger_of(self.endpoint)["vms"] if vm["preempted"]], [preempted["name"]])
        self.assertIn("was lost", json.dumps(self.steps("dismissed")), story)
        self.assertTrue(set(OTHERS) <= types, story)
        # The other type was measured: with all the shares of an audition, or in a trial, if the job expects that to cost less.
        (other,) = set(OTHERS) - {preempted["machine_type"]}
        phases = [step["phase"] for step in self.steps() if step["machine_type"] == other]
        self.assertTrue(phases.count("probing") >= 2 or ("trying" in phases and self.trained_alone_on(other)), story)
        # The search ended. On a busy machine a slow VM may be waiting for the one in its place as the target is reached.
        found = [step for step in self.steps() if step["phase"] != "replacing"][-1]
        self.assertEqual(found["phase"], "settled", story)
        self.assertTrue(all(step["machine_type"] == found["machine_type"] for step in self.steps()[self.steps().index(found):]), story)
        ledger = self.assert_every_sample_counts_and_nothing_is_left()
        print(f"{report['totals']['iterations']} iterations, {len(ledger['vms'])} VMs, ${report['totals']['cost']:.5f}: "
              + "; ".join(f"{step['iteration']} {step['phase']} {step['machine_type']}" for step in self.steps()))


if __name__ == "__main__":
    job.main()
