"""Jobs on machines that are rented, taken away and returned: emulated ones, each a network namespace. Needs root."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from running_job import shared_segments, wait_for_state  # noqa: E402

sys.path.insert(0, str(job.SOURCE / "test" / "support"))
import namespaces  # noqa: E402

SMALL = [job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "cluster.threads_per_worker=1"]
ENDLESS = [*SMALL, "--set", "stop.target=null", "--set", "stop.max_epochs=100000"]
SPACES = pathlib.Path("/run/netns")
GROUPS = [pathlib.Path("/sys/fs/cgroup/cpu"), pathlib.Path("/sys/fs/cgroup")]


def emulated(spot=False, machines=None, **preemption):
    settings = {"type": "emulated", "spot": spot, "preemption": preemption,
                "machines": [{"type": "small", "cores": 0.5, "link_megabits": 1000, "price_per_hour": 1.0,
                              "spot_price_per_hour": 0.3, **(machines or {})}]}
    return ["--set", "provider=" + json.dumps(settings)]


def left_of(pid):
    """What is there of a process's emulated machines."""
    mark = f"scavenger-{pid}-emulated"
    found = [path.name for path in SPACES.glob(f"{mark}*")]
    found += [str(path) for root in GROUPS for path in root.glob(f"{mark}*")]
    return found + [path.name for path in pathlib.Path("/sys/class/net").glob(f"s*v{pid}*")]


def clean():
    done = subprocess.run([job.programs / "scavenger-ctl", "clean", "--json"], capture_output=True, text=True)
    return json.loads(done.stdout)["removed"]


@unittest.skipIf(namespaces.missing(), namespaces.missing())
class MachinesTest(job.JobTest):
    def run_to_end(self, *arguments, check=0, timeout=240):
        process = self.start(*arguments, "--run", self.run_folder())
        output, _ = process.communicate(timeout=timeout)
        self.assertEqual(process.returncode, check, output)
        self.assertEqual(left_of(process.pid), [])
        return output

    def machines(self, change):
        return [event for event in job.events(self.run_folder(), "machine") if event["change"] == change]

    def assert_no_sample_is_lost_or_repeated(self):
        totals = job.report(self.run_folder())["totals"]
        self.assertEqual(totals["iterations_repeated"], 0)
        self.assertEqual(totals["iterations_trained"], totals["iterations"])
        for membership in job.events(self.run_folder(), "membership"):
            self.assertEqual(membership["position"], membership["first_iteration"] * membership["batch_size"])

    def assert_all_machines_were_returned(self):
        ended = [event["name"] for change in ("released", "lost") for event in self.machines(change)
                 if not event["name"].startswith("request-")]
        self.assertEqual(sorted(event["name"] for event in self.machines("ready")), sorted(ended))

    def test_a_job_on_spot_machines_that_are_taken_away_reaches_its_target_for_less(self):
        output = self.run_to_end(*SMALL, "--workers", 4, "--set", "stop.target.value=0.97", "--set",
                                 "optimizer.learning_rate=0.0005", "--set", "stop.max_epochs=1000",
                                 *emulated(spot=True, mean_life_seconds=3, notice_seconds=1, notice_share=0.5, seed=5))
        report = job.report(self.run_folder())
        self.assertEqual(report["status"], "target_reached", output)
        self.assertGreater(len(self.machines("lost")), 0)
        self.assert_no_sample_is_lost_or_repeated()
        self.assert_all_machines_were_returned()
        self.assertGreater(report["totals"]["cost"], 0)
        self.assertLess(report["totals"]["cost"], 4 * 1.0 * report["totals"]["seconds"] / 3600)
        print(f"    {len(self.machines('ready'))} machines, {len(self.machines('lost'))} lost, "
              f"{len(self.machines('notice'))} with notice; {report['totals']['seconds']:.1f} s, "
              f"${report['totals']['cost']:.5f}; {report['recoveries']['seconds']}")

    def test_who_gets_notice_leaves_at_a_boundary_and_is_replaced(self):
        process = self.start(*ENDLESS, "--workers", 2, "--run", self.run_folder(), *emulated(
            schedule=[{"worker": 1, "life_seconds": 20, "notice_seconds": 8}]))  # a worker may take seconds to start
        self.wait_for_event(self.run_folder(), "membership", count=3)
        self.finish(process)
        reasons = [event["reason"] for event in job.events(self.run_folder(), "membership")][:3]
        self.assertEqual(reasons, ["start", "a worker leaves", "a worker has come"])
        self.assertEqual(job.events(self.run_folder(), "process_lost"), [])
        self.assert_no_sample_is_lost_or_repeated()

    def finish(self, process):
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=180)
        self.assertEqual(process.returncode, 130, output)
        self.assertEqual(left_of(process.pid), [])

    def test_a_job_begins_with_the_machines_that_can_be_had(self):
        process = self.start(*ENDLESS, "--workers", 3, "--run", self.run_folder(), *emulated(machines={"count": 2}))
        self.wait_for_event(self.run_folder(), "iterations", count=3)
        self.finish(process)
        self.assertEqual(job.events(self.run_folder(), "membership")[0]["workers"], 2)
        self.assertIn("(capacity)", self.machines("refused")[0]["reason"])

    def test_max_cost_is_not_passed_and_the_last_iteration_is_kept(self):
        limit = 0.01
        self.run_to_end(*ENDLESS, "--workers", 2, "--set", f"stop.max_cost={limit}",
                        *emulated(machines={"price_per_hour": 1.2}))
        report = job.report(self.run_folder())
        self.assertEqual(report["status"], "max_cost")
        self.assertLessEqual(report["totals"]["cost"], limit)
        self.assertGreater(report["totals"]["cost"], limit / 10)
        self.assertEqual(job.events(self.run_folder(), "checkpoint")[-1]["iteration"], report["totals"]["iterations"])
        print(f"    ${report['totals']['cost']:.5f} of ${limit}")

    def test_a_killed_controller_leaves_what_clean_removes_and_a_resumed_job_goes_on(self):
        process = self.start(*ENDLESS, "--workers", 2, "--run", self.run_folder(), *emulated())
        other = self.start(*ENDLESS, "--run", self.run_folder("other"), *emulated())
        self.wait_for_event(self.run_folder(), "checkpoint")
        self.wait_for_event(self.run_folder("other"), "iterations")
        process.kill()
        process.wait()
        self.assertTrue(left_of(process.pid))
        removed = clean()
        self.assertTrue(any(f"scavenger-{process.pid}-" in what for what in removed), removed)
        self.assertEqual(left_of(process.pid), [])
        self.assertTrue(left_of(other.pid), "it lives")
        self.train("--resume", self.run_folder(), "--quiet", "--set", "stop.max_epochs=1")
        self.finish(other)

    def test_a_job_removes_what_a_killed_one_has_left(self):
        process = self.start(*ENDLESS, "--run", self.run_folder(), *emulated())
        self.wait_for_event(self.run_folder(), "machine", count=2)
        process.kill()
        process.wait()
        self.train(*ENDLESS, "--run", self.run_folder("next"), *emulated(), "--set", "stop.max_epochs=1")
        self.assertEqual(left_of(process.pid), [])

    def test_a_job_removes_what_a_killed_one_has_left_behind_only_after_it_began(self):
        killed = self.start(*ENDLESS, "--run", self.run_folder(), *emulated())
        self.wait_for_event(self.run_folder(), "machine", count=2)
        killed.kill()
        killed.wait()
        process = self.start(*ENDLESS, "--run", self.run_folder("next"), *emulated())
        self.wait_for_event(self.run_folder("next"), "iterations")
        # As a command does that the killed one had begun, if the machine is busy.
        subprocess.run(["ip", "netns", "add", f"scavenger-{killed.pid}-emulated-vm9"], check=True)
        self.finish(process)
        self.assertEqual(left_of(killed.pid), [])

    def test_a_controller_that_is_killed_in_any_state_is_resumed_to_the_target_and_nothing_is_left(self):
        segments = shared_segments()
        for state in ("starting", "training", "evaluating", "checkpointing", "halting"):
            with self.subTest(state=state):
                run = self.run_folder(state)
                process = self.start(*SMALL, "--workers", 2, "--set", "stop.target=null", "--set", "stop.max_epochs=100000", "--set",
                                     "optimizer.learning_rate=0.005", "--set", "evaluation.every_iterations=60", "--set",
                                     "checkpoint.every_iterations=50", "--set", "data.test.samples=20000", "--run", run, *emulated())
                workers = []
                if state == "halting":  # a worker is lost, and the other one is to say where it stands, which it cannot
                    self.wait_for_event(run, "iterations", count=2)
                    workers = [event["pid"] for event in job.events(run, "process_joined") if event["role"] == "worker"]
                    os.kill(workers[1], signal.SIGSTOP)
                    os.kill(workers[0], signal.SIGKILL)
                    wait_for_state(run, "halting")
                elif state == "starting":
                    self.wait_for_event(run, "machine")
                else:
                    wait_for_state(run, state)
                process.kill()
                process.wait()
                for worker in workers[1:]:
                    os.kill(worker, signal.SIGCONT)
                resumed = self.start("--resume", run, "--quiet", "--set", 'stop.target={"value": 0.9}')
                output, _ = resumed.communicate(timeout=240)
                self.assertEqual(resumed.returncode, 0, output)
                self.assertEqual(job.report(run)["status"], "target_reached")
                self.assertEqual(left_of(process.pid) + left_of(resumed.pid), [])
                self.assertFalse((run / "control.sock").exists())
        self.assertEqual(shared_segments() - segments, set())


class NoticeTest(job.JobTest):
    def test_a_local_worker_that_gets_sigterm_leaves_and_is_replaced(self):
        process = self.start(*ENDLESS, "--workers", 2, "--run", self.run_folder())
        self.wait_for_event(self.run_folder(), "iterations")
        started = job.events(self.run_folder(), "process_started")
        os.kill(next(event["pid"] for event in started if event["role"] == "worker" and event["index"] == 0),
                signal.SIGTERM)
        memberships = self.wait_for_event(self.run_folder(), "membership", count=3)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=180), 130)
        self.assertEqual([event["workers"] for event in memberships[:3]], [2, 1, 2])
        self.assertEqual(job.events(self.run_folder(), "process_lost"), [])
        self.assertEqual(job.report(self.run_folder())["totals"]["iterations_repeated"], 0)


if __name__ == "__main__":
    job.main()
