"""scavenger-campaign with an engine of the shell, and with scavenger-md: whatever is killed, each simulation counts once."""

import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from campaign_job import ENGINE, STEPS, CampaignJob  # noqa: E402
from fake_cloud import TOKEN, ledger_of, start_fake  # noqa: E402

KILLS = job.count_option(int(os.environ.get("SCAVENGER_CAMPAIGN_KILLS", "3")))
POINTS = max(6, 2 * KILLS)  # so that there is something to kill until the last

# Takes checkpoints by itself, each tenth step.
SELF_ENGINE = """#!/bin/sh
c=$1; until=$2; record=$3
step=0; [ -e state ] && step=$(cat state)
echo "begin $c $step $until" >> "$record"
while [ $step -lt $until ]; do
  sleep 0.02; step=$((step + 1))
  [ $((step % 10)) = 0 ] || continue
  echo $step > state.new; mv state.new state; echo > mark; mv mark checkpoint-done
done
echo $step > state
printf '{"steps": %s, "value": %s}\\n' $step $((c * 1000 + step)) > result.json
"""


class CampaignTest(CampaignJob):
    def check_all_done(self, points=6):
        report = self.report()
        self.assertEqual((report["status"], report["done"]), ("finished", points), report["reason"])
        for simulation in report["simulations"]:
            self.assertEqual((simulation["state"], simulation["steps"]), ("done", STEPS))
            self.assertEqual(self.result(simulation["point"]),
                             {"steps": STEPS, "value": 1000 * (simulation["point"] + 1) + STEPS})
        self.check_books()

    def check_nothing_is_redone_that_was_kept(self):
        """Each command has begun at the step that its simulation had reached according to the log."""
        begun = collections.Counter(tuple(map(int, line.split()[1:4])) for line in self.record.read_text().splitlines()
                                    if line.startswith("begin"))
        asked = collections.Counter()
        points = {}
        for line in self.log():
            for decided in line["actions"]:
                for name in ("start_task", "run_segment"):
                    if name in decided:
                        action = decided[name]
                        point = points.setdefault(action["task"], action.get("point"))
                        asked[point + 1, action["from"], action["until"]] += 1
        self.assertLessEqual(begun, asked)

    def test_undisturbed_campaign(self):
        self.campaign(self.write_config(), "--run", self.run_folder())
        self.check_all_done()
        report = self.report()
        self.assertEqual(report["spent"]["redone"]["seconds"], 0)
        page = (self.run_folder() / "report.html").read_text()
        self.assertIn("6 of 6 points were simulated", page)
        other = self.folder / "page.html"
        subprocess.run([job.programs / "scavenger-report", self.run_folder(), "--output", other], check=True,
                       stdout=subprocess.DEVNULL)
        self.assertEqual(other.read_text(), page)

    def test_kills_of_machines_and_commands_cost_a_segment_each(self):
        process = self.start_campaign(self.write_config(points=POINTS), "--run", self.run_folder())
        self.wait_for("segment_kept")
        for number in range(KILLS):
            time.sleep(0.2 + 0.4 * self.random.random())
            victims = self.processes("scavenger-task" if number % 2 == 0 else "engine.sh")
            if victims:
                os.kill(self.random.choice(victims), signal.SIGKILL)
        text = process.communicate(timeout=600)[0]
        self.assertEqual(process.returncode, 0, text)
        self.check_all_done(POINTS)
        self.check_nothing_is_redone_that_was_kept()

    def test_controller_is_killed_at_random_instants(self):
        config = self.write_config(points=POINTS)
        process = self.start_campaign(config, "--run", self.run_folder())
        for number in range(KILLS):
            self.wait_for("started", number + 1)
            time.sleep(0.1 + 0.9 * self.random.random())
            self.kill(process)
            self.assert_no_orphans()
            process = self.start_campaign("--resume", self.run_folder())
        text = process.communicate(timeout=600)[0]
        self.assertEqual(process.returncode, 0, text)
        self.check_all_done(POINTS)
        self.check_nothing_is_redone_that_was_kept()

    def test_what_a_command_has_started_ends_with_it(self):
        """Also what leads a process group or a session of its own, as a child of timeout(1) or setsid(1) does."""
        self.write_engine("#!/bin/sh\necho begin >> $1\nsetsid sleep 1001 &\ntimeout 1002 sleep 1003\n")
        config = self.write_config(points=2, simulation={"command": ["./engine.sh", str(self.record), "{until}"]})
        for number, end in enumerate((signal.SIGKILL, signal.SIGINT)):
            arguments = ("--resume", self.run_folder()) if number else (config, "--run", self.run_folder())
            process = self.start_campaign(*arguments)
            self.wait_for("segment_began", 2 * number + 2)
            self.wait_for_sleepers()
            if end == signal.SIGINT:  # also if whoever is to see to that is stopped
                for guard in self.guards():
                    os.kill(guard, signal.SIGSTOP)
            process.send_signal(end)
            process.wait(timeout=60)
            self.assert_no_orphans()

    def wait_for_sleepers(self):
        """While a process executes another program, it has no command line: one look has to see them all."""
        deadline = time.monotonic() + 60
        found = None
        while found != (4, 2) and time.monotonic() < deadline:  # timeout(1) has the word 1003 as well
            time.sleep(0.05)
            found = (len(self.processes("1003")), len(self.processes("1001")))
        self.assertEqual(found, (4, 2))

    def test_what_a_command_leaves_behind_ends_with_it(self):
        self.write_engine("#!/bin/sh\nsetsid sleep 1001 &\ntouch state; echo '{\"steps\": 40}' > result.json\n")
        self.campaign(self.write_config(points=1), "--run", self.run_folder())
        self.assert_no_orphans()

    def test_output_without_end_does_not_fill_the_disk(self):
        self.write_engine("#!/bin/sh\nyes spam | head -c 200000000; echo the last words; sleep 3\nexit 7\n")
        process = self.start_campaign(self.write_config(points=1, simulation={"tries": 1}), "--run", self.run_folder())
        process.communicate(timeout=240)
        one = self.report()["simulations"][0]
        self.assertTrue(one["log_tail"].endswith("the last words\n"), one)

    def test_ctrl_c_keeps_everything(self):
        process = self.start_campaign(self.write_config(), "--run", self.run_folder())
        self.wait_for("segment_kept", 2)
        self.wait_for("segment_began", 3)
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=180)[0]
        self.assertEqual(process.returncode, 130, text)
        self.assertEqual(self.report()["spent"]["redone"]["seconds"], 0, text)
        self.campaign("--resume", self.run_folder())
        self.check_all_done()
        self.check_nothing_is_redone_that_was_kept()

    def test_what_goes_wrong_is_reported_and_not_used(self):
        config = self.write_config(files=("diverge-1", "fail-2", "nan-3", "hot-4"),
                                   simulation={"tries": 2, "valid": {"ranges": {"value": [0, 10000]}}})
        self.campaign(config, "--run", self.run_folder())
        report = self.report()
        found = {s["point"] + 1: (s["state"], s.get("reason", ""), s.get("log_tail", "")) for s in report["simulations"]}
        self.assertEqual(found[1], ("diverged", "the command ended with exit code 3", "energy is not a number\n"))
        self.assertEqual(found[2][:2], ("failed", "the command ended with exit code 7"))
        self.assertEqual(found[2][2].count("no licence"), 1)
        self.assertEqual(found[3][0], "diverged")
        self.assertIn("not a JSON object", found[3][1])
        self.assertEqual(found[4][:2], ("diverged", "value is 77777, outside of 0 to 10000"))
        self.assertEqual((report["done"], report["diverged"], report["failed"]), (2, 3, 1))
        self.assertGreater(report["spent"]["discarded"]["seconds"], 0)
        for point in (0, 1, 2, 3):
            self.assertFalse((self.run_folder() / "simulations" / f"{point:04}" / "result").exists())
        page = (self.run_folder() / "report.html").read_text()
        self.assertIn("energy is not a number", page)
        self.check_books()

    def test_what_failed_is_tried_again_on_more_machines(self):
        no_licence = self.folder / "fail-2"
        no_licence.write_text("")
        self.write_engine(ENGINE.replace("-e fail-$c", f"-e {self.folder}/fail-$c"))
        self.campaign(self.write_config(points=3, simulation={"tries": 2}), "--run", self.run_folder())
        report = self.report()
        self.assertEqual((report["status"], report["done"], report["failed"]), ("finished", 2, 1))
        begun = self.record.read_text().count("begin")
        self.campaign("--resume", self.run_folder())
        self.assertEqual(self.record.read_text().count("begin"), begun)  # it has failed for good
        no_licence.unlink()
        self.campaign("--resume", self.run_folder(), "--retry-failed", "--machines", 1)
        self.check_all_done(3)
        self.check_nothing_is_redone_that_was_kept()
        self.assertIn("lead to the same decisions", self.campaign("--replay", self.run_folder()))

    def test_a_resume_takes_another_number_of_machines(self):
        process = self.start_campaign(self.write_config(points=6), "--run", self.run_folder())
        self.wait_for("segment_began", 2)
        self.kill(process)
        lines = len(self.log())
        self.campaign("--resume", self.run_folder(), "--machines", 3)
        asked = [action for line in self.log()[lines:lines + 1] for action in line["actions"]]
        self.assertEqual([name for one in asked for name in one], ["request_machine"] * 3)
        self.check_all_done()

    def test_a_campaign_without_a_result_has_failed(self):
        said = self.campaign(self.write_config(points=2, files=("diverge-1", "diverge-2")), "--run", self.run_folder(), check=1)
        self.assertIn("not one simulation has a result", said)

    def test_max_cost_is_kept_and_can_be_raised(self):
        # Two machines of $36 an hour are two cents a second.
        config = self.write_config(machines={"count": 2, "price_per_hour": 36},
                                   simulation={"stop": {"file": "stop", "grace_seconds": 1,
                                                        "reached": {"file": "result.json", "key": "steps"}}})
        self.campaign(config, "--run", self.run_folder(), "--max-cost", 0.1)
        report = self.report()
        self.assertEqual(report["status"], "max_cost")
        self.assertLessEqual(report["spent"]["all"]["dollars"], 0.1)
        self.check_books()
        self.campaign("--resume", self.run_folder(), "--max-cost", 100)
        self.check_all_done()
        self.check_nothing_is_redone_that_was_kept()

    def test_damaged_checkpoint_is_replaced_by_the_one_before(self):
        process = self.start_campaign(self.write_config(points=1), "--run", self.run_folder())
        self.wait_for("segment_kept", 3)
        self.kill(process)
        simulation = self.run_folder() / "simulations" / "0000"
        last = max(simulation.glob("segment-*/checkpoint/state"), key=lambda path: int(path.parts[-3].split("-")[1]))
        last.write_text("999\n")
        self.campaign("--resume", self.run_folder())
        self.assertIn("checkpoint_damaged", [line["event"] for line in self.log()])
        self.check_all_done(1)

    def test_engine_that_takes_checkpoints_by_itself(self):
        self.write_engine(SELF_ENGINE)
        config = self.write_config(points=2, simulation={"stop": {}, "steps": 200,
                                                         "checkpoint": {"files": ["state"], "mode": "self"}})
        process = self.start_campaign(config, "--run", self.run_folder())
        self.wait_for("checkpoint_kept", 3)
        os.kill(self.processes("scavenger-task")[0], signal.SIGKILL)
        text = process.communicate(timeout=120)[0]
        self.assertEqual(process.returncode, 0, text)
        self.assertEqual(self.report()["done"], 2)
        self.assertEqual(self.result(1), {"steps": 200, "value": 2200})
        resumed = [int(line.split()[2]) for line in self.record.read_text().splitlines()]
        self.assertTrue(any(step > 0 and step % 10 == 0 for step in resumed), resumed)
        self.check_books()

    def test_templates_and_folders_reach_the_simulation(self):
        inputs = self.folder / "inputs"
        inputs.mkdir()
        (inputs / "in.txt").write_text("c is {{c}} ${c}, seed {{seed}}\n")
        self.write_engine('#!/bin/sh\ncat inputs/in.txt > result.txt; echo "{\\"a\\": $1}" > result.json; touch state\n')
        config = self.write_config(points=2, simulation={
            "files": ["engine.sh", "inputs/"], "templates": ["inputs/in.txt"], "stop": {},
            "result": {"files": ["result.*"]}, "command": ["./engine.sh", "{c}", "{until}", "{{c}}"]})
        self.campaign(config, "--run", self.run_folder())
        text = (self.run_folder() / "simulations/0001/result/result.txt").read_text()
        self.assertRegex(text, r"^c is 2 \$\{c\}, seed [1-9][0-9]*\n$")

    def test_wrong_input_is_one_error_before_anything_is_started(self):
        config = self.write_config()
        for arguments, text in (((config, "--set", "simulation.cores=1000"), "no machine has more than"),
                                ((config, "--plan"), "how long a simulation takes"),
                                ((config, "--set", 'simulation.command=["nothing-here", "{until}"]'), "there is no program"),
                                ((config, "--set", 'simulation.command=["./nothing", "{until}"]'), "no program among simulation.files"),
                                ((config, "--set", 'simulation.command=["/tmp", "{until}"]'), "there is no program"),
                                ((config, "--set", "provider.type=gcp"), "provider"),
                                ((config, "--max-cost", "0"), "--max-cost"), ((config, "--max-simulations", "0"), "--max-simulations"),
                                ((config, "--set", "machines.cuont=2"), 'did you mean "count"'),
                                (("missing.json",), "missing.json"), (("--resume", self.folder), "no campaign here"), ((), "--help")):
            done = self.campaign(*arguments, check=2)
            self.assertIn(text, done)
            self.assertEqual(done.count("\n"), 1, done)
        self.assertFalse((self.folder / "runs").exists())

    def test_results_stay_those_of_the_configuration_that_they_were_simulated_for(self):
        self.campaign(self.write_config(points=2), "--run", self.run_folder())
        path = self.run_folder() / "config.json"
        path.write_text(path.read_text().replace('"seed": 1', '"seed": 2'))
        self.assertIn("has been edited since the campaign began", self.campaign("--resume", self.run_folder(), check=2))

    def test_a_campaign_whose_log_is_removed_ends(self):
        process = self.start_campaign(self.write_config(points=20), "--run", self.run_folder())
        self.wait_for("segment_began")
        (self.run_folder() / "campaign.jsonl").unlink()
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, output)
        self.assertIn("the log was removed", output)

    def test_one_process_works_on_a_run(self):
        process = self.start_campaign(self.write_config(points=2), "--run", self.run_folder())
        self.wait_for("started")
        self.assertIn("another process is working", self.campaign("--resume", self.run_folder(), check=2))
        # Nothing is read before the lock is held: the other process would go on from what is old by then.
        with open(self.run_folder() / "campaign.jsonl", "a") as log:
            log.write("nonsense\n")
        self.assertIn("another process is working", self.campaign("--resume", self.run_folder(), check=2))
        self.assertEqual(process.wait(timeout=120), 0)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip") and shutil.which("tc"), "emulated machines need root, ip and tc")
    def test_spot_machines_come_and_go(self):
        provider = {"type": "emulated", "spot": True,
                    "machines": [{"type": name, "cores": 0.5, "start_seconds": 0.2, "count": 3, "spot_price_per_hour": price}
                                 for name, price in (("dear", 7), ("small", 3.6))],
                    "preemption": {"mean_life_seconds": 5, "notice_seconds": 2, "notice_share": 0.5, "seed": 3}}
        process = self.start_campaign(self.write_config(points=12, provider=provider, machines={"count": 2}, stop={"max_cost": 1}),
                                      "--run", self.run_folder())
        text = process.communicate(timeout=240)[0]
        self.assertEqual(process.returncode, 0, text)
        self.check_all_done(12)
        self.check_nothing_is_redone_that_was_kept()
        report = self.report()
        self.assertGreater(report["machines_lost"], 0)
        asked = [decided["request_machine"]["type"] for line in self.log() for decided in line["actions"]
                 if "request_machine" in decided]
        self.assertEqual(asked[:2], ["small", "dear"])  # both are tried
        self.assertIn("small", asked[2:])
        self.assertEqual(report["types"][0]["type"], "small")
        self.assertEqual(report["lives"]["losses"], report["machines_lost"])
        self.assertLessEqual(report["spent"]["all"]["dollars"], 1)
        # At most the segment that ran on each lost machine.
        self.assertLessEqual(report["spent"]["redone"]["seconds"], report["machines_lost"] * 30)
        left = subprocess.run(["ip", "netns", "list"], text=True, stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual([line for line in left.splitlines() if str(process.pid) in line], [])

    @unittest.skipIf(shutil.which("curl") is None, "there is no curl, which the VMs' startup script uses")
    def on_compute_engine(self, settings):
        """Starts the fake; returns its endpoint and a configuration that uses it."""
        endpoint = start_fake(self, settings, "--vms", self.folder / "vms")
        self.more_environment = {"SCAVENGER_GCP_TOKEN": TOKEN}
        provider = {"type": "gcp", "project": "demo", "zones": ["us-central1-a"], "spot": True, "endpoint": endpoint,
                    "machine_types": ["n2d-standard-2"], "programs": str(job.programs), "controller_address": "127.0.0.1",
                    "cool_down_seconds": 1, "watch_seconds": 1}
        return endpoint, self.write_config(provider=provider, machines={"count": 2, "start_seconds": 120}, stop={"max_cost": 1})

    def test_vms_of_the_fake_compute_engine(self):
        settings = {"zones": {"us-central1-a": {"*": 3}}, "time_scale": 20, "seed": 3, "machine_types": {"n2d-standard-2": [2, 8]},
                    "spot_lives": {"early_share": 0.5, "early_hours": 0.08, "mean_hours": 0.3}, "faults": {"no_notice": 0.5}}
        endpoint, config = self.on_compute_engine(settings)
        process = self.start_campaign(config, "--run", self.run_folder())
        text = process.communicate(timeout=240)[0]
        self.assertEqual(process.returncode, 0, text)
        self.check_all_done()
        self.check_nothing_is_redone_that_was_kept()
        vms = ledger_of(endpoint)["vms"]
        self.assertGreater(len(vms), 0)
        self.assertEqual([vm["name"] for vm in vms if vm["gone"] is None], [])

    def test_vms_are_returned_if_the_report_cannot_be_written(self):
        endpoint, config = self.on_compute_engine({"zones": {"us-central1-a": {"*": 3}}, "time_scale": 20, "machine_types": {"n2d-standard-2": [2, 8]}})
        process = self.start_campaign(config, "--run", self.run_folder())
        self.wait_for("segment_began", timeout=120)
        (self.run_folder() / "report.json").unlink(missing_ok=True)
        (self.run_folder() / "report.json" / "in_the_way").mkdir(parents=True)
        text = process.communicate(timeout=240)[0]
        self.assertEqual(process.returncode, 1, text)
        self.assertIn("report.json", text)
        vms = ledger_of(endpoint)["vms"]
        self.assertGreater(len(vms), 0)
        self.assertEqual([vm["name"] for vm in vms if vm["gone"] is None], [])
        (self.run_folder() / "report.json" / "in_the_way").rmdir()
        (self.run_folder() / "report.json").rmdir()
        self.assertIn("finished", self.campaign("--resume", self.run_folder()))
        self.check_all_done()

    def test_molecular_dynamics_have_the_same_bits_after_kills(self):
        config = json.loads((job.CONFIGS / "electrolyte_small.json").read_text())
        config["space"] = {"Z": {"values": [2]}, "c": {"values": [0.5, 1]}, "sigma": {"values": [-0.01]}}
        config["simulation"]["steps"] = 100000
        config["simulation"]["checkpoint"]["interval_seconds"] = 0.3
        config["simulation"]["valid"] = {}
        del config["surrogate"], config["selection"]
        path = self.folder / "ions.json"
        path.write_text(json.dumps(config))
        self.campaign(path, "--run", self.folder / "whole")
        process = self.start_campaign(path, "--run", self.run_folder())
        self.wait_for("segment_kept", 2)
        for victim in self.processes("scavenger-task"):
            os.kill(victim, signal.SIGKILL)
        self.wait_for("segment_kept", 4)
        self.kill(process)
        self.campaign("--resume", self.run_folder())
        for point in (0, 1):
            for name in ("result.json", "profile.csv"):
                place = pathlib.Path("simulations") / f"{point:04}" / "result" / name
                self.assertEqual((self.run_folder() / place).read_bytes(), (self.folder / "whole" / place).read_bytes())
        self.check_books()


if __name__ == "__main__":
    job.main()
