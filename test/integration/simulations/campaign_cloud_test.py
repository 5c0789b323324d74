"""Whole campaigns on VMs of the fake Compute Engine that are taken away after published lifetimes, 10 s for each hour. The
lifetimes are Kaplan and Meier's curve of the developers' shared folder, or a curve that was fitted to it, if that is not here.

SCAVENGER_CAMPAIGN_VMS=40 runs the measured one of docs/results/simulations.md: 40 simulations of 30 s.
"""

import collections
import csv
import json
import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from campaign_job import CampaignJob  # noqa: E402
from fake_cloud import TOKEN, ledger_of, start_fake  # noqa: E402

MEASURED = int(os.environ.get("SCAVENGER_CAMPAIGN_VMS", "0"))
SIMULATIONS = MEASURED or 8
STEPS = 120 if MEASURED else 32
STEP_SECONDS = 0.25
VMS = 4 if MEASURED else 3
HOUR_SECONDS = 10.0  # an hour of a VM's life takes so long
MEAN_LIFE_HOURS = 16.9  # of the fake's VMs
MOST_OVERHEAD = 0.08
MOST_DOLLARS = 0.05 if MEASURED else 0.01
EARLY_DOLLARS = 0.004  # a VM is charged for a minute at least

# Writes a line for each step that it computes, so that steps which were computed twice can be counted.
ENGINE = """#!/bin/sh
c=$1; until=$2; record=$3
step=0; [ -e state ] && step=$(cat state)
while [ $step -lt $until ] && [ ! -e stop ]; do sleep %s; step=$((step + 1)); echo "$c $step" >> "$record"; done
echo $step > state.new; mv state.new state
printf '{"steps": %%s, "value": %%s}\\n' $step $((c * 1000 + step)) > result.json
""" % STEP_SECONDS


def kaplan_meier(lives):
    """Rows of hours and the share of machines that were taken by then, from pairs of seconds and whether it was taken."""
    lives = sorted(lives)
    living, rows = 1.0, []
    for place, (seconds, was_taken) in enumerate(lives):
        if was_taken:
            living *= 1.0 - 1.0 / (len(lives) - place)
            rows.append([seconds / 3600.0, 1.0 - living])
    return rows


def spot_lives():
    """For the fake. Users stopped half of the machines: these lived so long at least."""
    path = job.SHARED_DATA / "gcp" / "preemptible_lifetimes_2019.csv"
    if not path.exists():
        print(f"lifetimes follow a fitted curve: there is no {path}")
        return {"early_share": 0.22, "early_hours": 1.1, "mean_hours": MEAN_LIFE_HOURS}
    with open(path, encoding="utf-8") as file:
        lives = [(float(row["lifetime_seconds"]), row["ended_by"] == "preempted") for row in csv.DictReader(file)]
    return {"table": kaplan_meier(lives)}


class LifetimeTest(unittest.TestCase):
    def test_kaplan_meier_by_hand(self):
        # Four machines: one is taken of four, one is stopped, one is taken of two, one is stopped.
        hour = 3600.0
        self.assertEqual(kaplan_meier([(3 * hour, True), (hour, True), (2 * hour, False), (4 * hour, False)]), [[1.0, 0.25], [3.0, 0.625]])


@unittest.skipIf(shutil.which("curl") is None, "there is no curl, which the VMs' startup script uses")
class CampaignCloudTest(CampaignJob):
    def start_cloud(self):
        """Starts the fake; returns its endpoint and a configuration that uses it."""
        self.write_engine(ENGINE)
        settings = {"zones": {"us-central1-a": {"*": 8}}, "time_scale": 3600 / HOUR_SECONDS, "seed": 5,
                    "machine_types": {"n2d-standard-2": [2, 8]},
                    "spot_lives": spot_lives(), "faults": {"no_notice": 0.5}}
        endpoint = start_fake(self, settings, "--vms", self.folder / "vms")
        self.more_environment = {"SCAVENGER_GCP_TOKEN": TOKEN}
        provider = {"type": "gcp", "project": "demo", "zones": ["us-central1-a"], "spot": True, "endpoint": endpoint,
                    "machine_types": ["n2d-standard-2"], "programs": str(job.programs), "controller_address": "127.0.0.1",
                    "cool_down_seconds": 1, "watch_seconds": 1,
                    "max_run_seconds": 86400 * 120}  # of the fake's time, which is faster
        simulation = {"steps": STEPS, "checkpoint": {"files": ["state"], "mean_life_hours": MEAN_LIFE_HOURS * HOUR_SECONDS / 3600}}
        return endpoint, self.write_config(points=SIMULATIONS, provider=provider, simulation=simulation,
                                           machines={"count": VMS, "start_seconds": 120})

    def check_no_vm_is_left(self, endpoint):
        vms = ledger_of(endpoint)["vms"]
        self.assertGreater(len(vms), 0)
        self.assertEqual([vm["name"] for vm in vms if vm["gone"] is None], [])

    def steps_that_losses_may_cost(self):
        """The segments that ran when something was taken away or ended badly."""
        running, most = {}, 0
        machine_of = {}
        for line in self.log():
            event = line["event"]
            if event in ("machine_lost", "host_lost", "started", "task_failed"):
                lost = [task for task in running if event == "started" or machine_of[task] == line["of"].get("machine") or task == line["of"].get("task")]
                most += sum(running.pop(task) for task in lost)
            if event == "segment_kept":
                running.pop(line["of"]["task"], None)
            for decided in line["actions"]:
                for name in ("start_task", "run_segment"):
                    if name in decided:
                        action = decided[name]
                        machine_of.setdefault(action["task"], action.get("machine"))
                        running[action["task"]] = action["until"] - action["from"]
                if "end_task" in decided and event == "tick":  # it was killed at the end of its grace
                    most += running.pop(decided["end_task"]["task"], 0)
        return most

    def test_whole_campaign(self):
        endpoint, config = self.start_cloud()
        if MEASURED:
            self.campaign(config, "--run", self.run_folder(), "--max-cost", EARLY_DOLLARS, timeout=600)
            report = self.report()
            self.assertEqual(report["status"], "max_cost", report["reason"])
            self.assertLessEqual(report["spent"]["all"]["dollars"], EARLY_DOLLARS)
            self.assertLess(report["done"], SIMULATIONS)
            self.check_no_vm_is_left(endpoint)
            self.campaign("--resume", self.run_folder(), "--max-cost", MOST_DOLLARS, timeout=900)
        else:
            self.campaign(config, "--run", self.run_folder(), "--max-cost", MOST_DOLLARS)
        report = self.report()
        self.assertEqual((report["status"], report["done"]), ("finished", SIMULATIONS), report["reason"])
        self.assertLessEqual(report["spent"]["all"]["dollars"], MOST_DOLLARS)
        self.check_no_vm_is_left(endpoint)
        self.check_books()
        for simulation in report["simulations"]:
            self.assertEqual((simulation["state"], simulation["steps"]), ("done", STEPS))
            self.assertEqual(self.result(simulation["point"]), {"steps": STEPS, "value": 1000 * (simulation["point"] + 1) + STEPS})
        computed = collections.Counter(line for line in self.record.read_text().splitlines())
        self.assertEqual(len(computed), SIMULATIONS * STEPS)
        redone = sum(computed.values()) - len(computed)
        self.assertLessEqual(redone, self.steps_that_losses_may_cost())

        spent = report["spent"]
        overhead = sum(spent[kind]["seconds"] for kind in ("checkpoint", "start", "redone")) / spent["all"]["seconds"]
        if MEASURED:
            print(json.dumps({"machines_lost": report["machines_lost"], "steps_redone": redone, "overhead": overhead,
                              "checkpoint_seconds": report["checkpoint_seconds"],
                              **{kind: round(amount["seconds"], 2) for kind, amount in spent.items()},
                              "dollars": spent["all"]["dollars"]}))
            self.assertLess(overhead, MOST_OVERHEAD)

        plan = self.campaign(config, "--plan", "--like", self.run_folder())
        self.assertIn(f"as configured: {SIMULATIONS} simulations in ", plan)

    def test_segments_that_no_vm_lives_for_are_refused(self):
        _, config = self.start_cloud()
        for arguments in ((), ("--plan", "--seconds-per-simulation", 600)):
            said = self.campaign(config, *arguments, "--set", "provider.max_run_seconds=100",
                                 "--set", "simulation.checkpoint.interval_seconds=100", check=2)
            self.assertIn("simulation.checkpoint.interval_seconds: segments of 100 s would not end before their machines", said)
        self.assertFalse((self.folder / "runs").exists())


if __name__ == "__main__":
    job.main()
