"""Jobs whose workers are VMs of the fake Compute Engine (test/fake_gce): real training, and real processes that boot by the startup script,
are preempted, and delete themselves."""

import json
import os
import pathlib
import re
import shutil
import signal
import sys
import textwrap
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
import user_code  # noqa: E402
from fake_cloud import TOKEN, start_fake  # noqa: E402

SCRIPT = """
    import sys
    import scavenger
    assert sys.argv[1:] == ["two words", "$(id)"], sys.argv
    model = make_model()
    scavenger.prepare(model, torch.optim.SGD(model.parameters(), lr=0.05))
    for batch in scavenger.loader(Lines(512, 0), batch_size=64, max_iterations=40):
        scavenger.step(loss(model, batch))
"""
TIME_SCALE = 20  # an insert takes a second, half of the VMs die in their first half minute


@unittest.skipIf(shutil.which("curl") is None, "there is no curl, which the VMs' startup script uses")
class ComputeEngineTest(job.JobTest):
    def setUp(self):
        super().setUp()
        settings = {"zones": {"us-central1-a": {"*": 3}, "us-central1-b": {"*": 3}}, "time_scale": TIME_SCALE, "seed": 3,
                    "machine_types": {"n2d-standard-2": [2, 8], "e2-standard-2": [2, 8], "n2d-standard-32": [32, 128]},
                    "spot_lives": {"early_share": 0.5, "early_hours": 0.08, "mean_hours": 0.3},
                    "faults": {"reply_lost": 0.05, "error_before": 0.05, "rate_limit": 0.01, "stock_out": 0.1, "no_notice": 0.5}}
        self.endpoint = start_fake(self, settings, "--vms", self.folder / "vms")

    def environment(self):
        return {**super().environment(), "SCAVENGER_GCP_TOKEN": TOKEN, "SCAVENGER_PYTHON": sys.executable}

    def provider(self, **changed):
        return {"type": "gcp", "project": "demo", "zones": ["us-central1-a", "us-central1-b"], "spot": True, "endpoint": self.endpoint,
                "machine_types": ["n2d-standard-2", "e2-standard-2"], "programs": str(job.programs), "controller_address": "127.0.0.1",
                "cool_down_seconds": 1, "watch_seconds": 1} | changed

    def options(self, **changed):
        # A network so small that the machines' lives, and not its arithmetic, decide how long a job takes.
        return [job.CONFIGS / "gcp_spot.json", "--run", self.run_folder(), "--set", "provider=" + json.dumps(self.provider(**changed)), "--set", "model.hidden=[64]",
                "--set", "stop.target.value=0.84", "--set", "cluster.threads_per_worker=1"]

    def ledger(self):
        with urllib.request.urlopen(self.endpoint + "/fake/ledger") as reply:
            return json.load(reply)

    def assert_all_returned(self, timeout=180):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and any(vm["gone"] is None for vm in self.ledger()["vms"]):
            time.sleep(0.5)
        self.assertEqual([vm["name"] for vm in self.ledger()["vms"] if vm["gone"] is None], [])

    def page_data(self):
        """What the report's page is drawn from."""
        job.run_program("scavenger-report", self.run_folder(), "--output", self.folder / "page.html")
        text = (self.folder / "page.html").read_text()
        return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])["runs"][0]

    def assert_report_has_vms(self, report, ledger):
        """Each VM's life and cost, the zones that were tried, and what spot saved."""
        data = self.page_data()
        rented = [machine for machine in data["machines"] if machine["ready"] is not None]
        self.assertTrue({machine["name"] for machine in rented} <= {vm["name"] for vm in ledger["vms"]})
        self.assertAlmostEqual(sum(machine["cost"] for machine in rented), report["totals"]["cost"], delta=1e-4 * report["totals"]["cost"])
        for machine in rented:
            self.assertGreaterEqual(machine["ended"], machine["ready"])
            self.assertAlmostEqual(machine["cost"], machine["price_per_hour"] / 3600 * max(machine["seconds"], 60), delta=1e-3 * machine["cost"])
        asked = {(refusal["zone"], refusal["type"]) for machine in data["machines"] for refusal in machine["refusals"]} | {(machine["zone"], machine["type"]) for machine in rented}
        self.assertTrue({zone for zone, _ in asked} <= {"us-central1-a", "us-central1-b"}, asked)
        spot = report["savings"]["on_demand"]
        prices = {machine["name"]: machine["on_demand_cost"] / machine["cost"] for machine in rented}
        self.assertAlmostEqual(spot["cost"], sum(machine["cost"] * prices[machine["name"]] for machine in rented), delta=1e-3 * spot["cost"])
        self.assertAlmostEqual(spot["cost_saved"], 1 - report["totals"]["cost"] / spot["cost"], places=4)
        self.assertGreater(spot["cost_saved"], 0.4)  # n2d and e2 cost less than half on spot
        print(f"on demand {spot['cost']:.5f}, saved {spot['cost_saved']:.0%}; asked {sorted(asked)}")

    def test_search_on_spot_vms_that_are_preempted(self):
        said = self.train(*self.options(), "--set", "limits.start_seconds=120")
        self.assertRegex(said, r"on demand \$\S+ for the same machine seconds, of which spot machines saved")
        ledger = self.ledger()
        self.assertEqual([vm["name"] for vm in ledger["vms"] if vm["gone"] is None], [], "the job ended before all was returned")
        report = job.report(self.run_folder())
        self.assertEqual(report["status"], "target_reached")
        changes = [event["change"] for event in job.events(self.run_folder(), "machine")]
        self.assertGreaterEqual(changes.count("ready"), 2)
        print(f"{len(ledger['vms'])} VMs, {sum(vm['preempted'] for vm in ledger['vms'])} preempted; cost {report['totals']['cost']:.5f}")
        self.assert_report_has_vms(report, ledger)
        for vm in ledger["vms"]:  # whoever may list VMs reads their metadata
            self.assertRegex(vm["metadata"].get("scavenger-ticket", "-----BEGIN CMS"), "^-----BEGIN CMS")
            self.assertEqual([key for key, value in vm["metadata"].items() if "secret" in value and key != "startup-script"], [])
        everything = "".join(path.read_text(errors="replace") for path in self.run_folder().rglob("*") if path.suffix in (".log", ".json", ".jsonl"))
        self.assertNotIn("Bearer", everything)
        self.assertNotIn(TOKEN, everything + said)

    def assert_no_secret_is_shown(self):
        """Neither in a command line of the job and its VMs, nor in what VMs write or keep."""
        for pid in job.processes_of(self.folder):
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue  # it has just ended
            self.assertNotIn(TOKEN, words)
            self.assertNotIn("Bearer", words)
        for path in (self.folder / "vms").rglob("*"):
            self.assertNotIn(path.name, ("ticket", "key.pem"), "a secret outlives its use")
            if path.suffix == ".log":
                self.assertNotIn(TOKEN, path.read_text(errors="replace"))

    @unittest.skipUnless(user_code.HAS_TORCH, "PyTorch for Python is not installed")
    def test_vms_train_a_script_in_python(self):
        script = self.folder / "it's a script.py"
        script.write_text(textwrap.dedent(user_code.MODEL + user_code.LOSS + user_code.LINES + SCRIPT))
        self.train(script, "--run", self.run_folder(), "--workers", 2, "--set", "provider=" + json.dumps(self.provider(spot=False)), "--set",
                   "limits.start_seconds=240", "--", "two words", "$(id)")
        self.assertEqual(job.report(self.run_folder())["totals"]["iterations"], 40)
        self.assertGreaterEqual(len(self.ledger()["vms"]), 2)
        self.assert_all_returned()

    def test_max_cost_is_not_passed(self):
        limit = 0.058  # of which 0.039 are kept back for the return of two VMs, and each costs 0.0065 at least
        said = self.train(*self.options(machine_types=["n2d-standard-32"]), "--workers", 2, "--set", "limits.start_seconds=120", "--set", 'search.mode="off"',
                          "--set", "stop=" + json.dumps({"max_cost": limit, "max_seconds": 600}))
        report = job.report(self.run_folder())
        self.assertEqual(report["status"], "max_cost", said)
        self.assertLessEqual(report["totals"]["cost"], limit)
        self.assertGreater(report["totals"]["cost"], 0.012)
        self.assertEqual([vm["name"] for vm in self.ledger()["vms"] if vm["gone"] is None], [])
        print(f"${report['totals']['cost']:.5f} of ${limit}")

    def test_vms_whose_worker_cannot_start_are_not_rented_for_ever(self):
        """The programs are not where the configuration says: three VMs later the job ends, and shows what a VM wrote to its console."""
        said = self.train(*self.options(programs="/opt/nobody/bin", machine_types=["e2-standard-2"]), "--workers", 1, "--set", 'search.mode="off"',
                          "--set", "limits.start_seconds=120", check=1, timeout=400)
        said = " ".join(said.split())
        self.assertRegex(said, "3 workers in a row never joined the job, and nobody else is there")
        self.assertRegex(said, "/opt/nobody/bin/scavenger-worker: No such file or directory")
        # One that is preempted does not count, unless its worker had ended before.
        preempted = {vm["name"]: vm["preempted"] for vm in self.ledger()["vms"] if vm["running"] is not None}
        self.assertGreaterEqual(len(preempted), 3, preempted)
        self.assertLessEqual(sum(not was for was in preempted.values()), 3, preempted)
        self.assertEqual(self.ledger()["violations"], [])
        self.assert_all_returned(timeout=1)

    def test_a_host_that_is_maintained_is_notice(self):
        process = self.start(*self.options(), "--set", "limits.start_seconds=120", "--set", 'stop={"max_seconds":100}', "--set", 'search.mode="off"')
        self.wait_for_event(self.run_folder(), "iterations", 3, timeout=120)
        training = {event["name"] for event in job.events(self.run_folder(), "machine") if event["change"] == "ready"}
        vm = next(vm for vm in self.ledger()["vms"] if vm["name"] in training and vm["gone"] is None)
        urllib.request.urlopen(f"{self.endpoint}/fake/maintain?zone={vm['zone']}&name={vm['name']}").close()
        deadline = time.monotonic() + 180
        console = self.folder / "vms" / vm["name"] / "console.log"
        while time.monotonic() < deadline and "maintenance-event: TERMINATE_ON_HOST_MAINTENANCE" not in console.read_text():
            time.sleep(0.2)
        self.assertIn("maintenance-event: TERMINATE_ON_HOST_MAINTENANCE", console.read_text())
        self.wait_for_event(self.run_folder(), "membership", 2, timeout=180)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assert_all_returned(timeout=1)

    def test_vms_of_a_killed_controller_delete_themselves_and_the_job_goes_on(self):
        process = self.start(*self.options(), "--set", "limits.start_seconds=120")
        self.wait_for_event(self.run_folder(), "iterations", 3, timeout=120)
        self.assert_no_secret_is_shown()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        self.assert_all_returned()
        self.train("--resume", self.run_folder(), timeout=600)  # VMs live for half a minute, however slow this machine is
        self.assertEqual(job.report(self.run_folder())["status"], "target_reached")
        self.assert_all_returned(timeout=1)


if __name__ == "__main__":
    job.main()
