"""A job that finds its machine type while it trains: auditions on an emulated cluster of several types. Needs root."""

import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

sys.path.insert(0, str(job.SOURCE / "test" / "support"))
import cpu_quota  # noqa: E402
import namespaces  # noqa: E402

# Per core the narrow ones are the cheapest; but their link is slow, and nobody knows how much that matters before it
# was measured. The dear ones are as good as the wide ones, for ten times their price.
MACHINES = [{"type": "narrow", "cores": 0.3, "link_megabits": 20, "price_per_hour": 0.3, "count": 8},
            {"type": "wide", "cores": 0.5, "link_megabits": 1000, "price_per_hour": 0.55, "count": 8},
            {"type": "dear", "cores": 0.5, "link_megabits": 1000, "price_per_hour": 5.5, "count": 8}]
SETTINGS = ["--quiet", "--set", "cluster.threads_per_worker=1", "--set", "stop.target=null", "--set",
            "evaluation.every_epochs=100000", "--set", "batching.dynamic=true", "--set", "batch_size=256", "--set",
            "model.hidden=[128,128]", "--set", "optimizer.learning_rate=0.01"]
LONG = [*SETTINGS, "--set", "stop.max_epochs=100000"]


def race(*machines, policy="min-cost", **vms):
    provider = {"type": "emulated", "machines": list(machines) or MACHINES, "vms": vms}
    return ["--vms", "auto", "--policy", policy, "--set", "provider=" + json.dumps(provider)]


@unittest.skipIf(namespaces.missing(), namespaces.missing())
@unittest.skipUnless(cpu_quota.can_limit(), "needs root and the cpu controller of cgroup version 1")
class VmsTest(job.JobTest):
    def setUp(self):
        super().setUp()
        self.run_now = self.run_folder()  # of which the methods below speak

    def begin(self, *arguments):
        return self.start(job.CONFIGS / "synthetic_mlp.json", *arguments, "--run", self.run_now)

    def steps(self, phase=None):
        return [step for step in job.events(self.run_now, "vm_step") if phase in (None, step["phase"])]

    def wait_for_phase(self, process, *phases, timeout=300):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            for step in self.steps():
                if step["phase"] in phases:
                    return step
            if process.poll() is not None:
                self.fail(f"ended with {process.returncode}: {process.stdout.read()}")
            time.sleep(0.05)
        self.fail(f"no {phases} within {timeout} s: {self.steps()}")

    def finish(self, process):
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=180)
        self.assertEqual(process.returncode, 130, output)

    def types_by_worker(self):
        return {event["worker"]: event["machine_type"] for event in job.events(self.run_now, "machine")
                if event["change"] == "ready"}

    def types_that_train(self):
        types = self.types_by_worker()
        return {types[worker] for worker in job.events(self.run_now, "membership")[-1]["indices"]}

    def wait_until(self, holds, timeout=120):
        deadline = time.monotonic() + timeout
        while not holds():
            self.assertLess(time.monotonic(), deadline, self.steps())
            time.sleep(0.05)

    def assert_nothing_was_thrown_away(self, batches=(256,)):
        totals = job.report(self.run_now)["totals"]
        self.assertEqual(totals["iterations_repeated"], 0)
        position, iteration, batch = 0, 0, batches[0]
        for membership in job.events(self.run_now, "membership"):
            self.assertEqual(sum(membership["shares"]), membership["batch_size"])
            position += (membership["first_iteration"] - iteration) * batch
            self.assertEqual(membership["position"], position)
            iteration, batch = membership["first_iteration"], membership["batch_size"]
            self.assertIn(batch, batches)

    def test_types_are_auditioned_while_the_job_trains_and_it_settles_on_one(self):
        process = self.begin(*LONG, *race(max_vms=3))
        settled = self.wait_for_phase(process, "settled")
        # Those that leave do so at the next boundary.
        self.wait_until(lambda: self.types_that_train() == {settled["machine_type"]}
                        and job.events(self.run_now, "membership")[-1]["workers"] == settled["workers"])
        self.finish(process)
        story = json.dumps(self.steps(), indent=1)
        self.assertEqual(self.steps()[0]["machine_type"], "narrow", story)
        auditions = self.steps("audition")
        self.assertGreater(len(auditions), 0, story)
        self.assertEqual(len({step["machine_type"] for step in auditions}), len(auditions), story)
        self.assertIn(settled["machine_type"], ("narrow", "wide"), story)
        # Its share steps upwards, and the others have the rest of the same batch.
        for audition in auditions:
            wished = [audition] + [step for step in self.steps("probing") if step["machine_type"] == audition["machine_type"]]
            shares = [step["share"] for step in wished]
            self.assertEqual(shares, sorted(shares), story)
            had = {pair for membership in job.events(self.run_now, "membership") if membership["time"] > audition["time"]
                   for pair in zip(membership["indices"], membership["shares"])}
            # If a worker with the expected number is still leaving, the machine is another one's, as the next step says.
            for share in shares:
                self.assertTrue(any((step["worker"], share) in had for step in wished if step["share"] == share), (story, had))
        self.assert_nothing_was_thrown_away()

    def test_a_job_too_short_for_an_audition_keeps_the_catalogues_plan_and_says_so(self):
        process = self.begin(*SETTINGS, *race(), "--set", "stop.max_iterations=60")
        output, _ = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 0, output)
        self.assertEqual(self.steps("audition"), [])
        self.assertIn("no audition", self.steps("settled")[0]["reason"])
        self.assertEqual(set(self.types_by_worker().values()), {"narrow"})
        self.assert_nothing_was_thrown_away()

    def test_a_controller_that_is_killed_in_an_audition_goes_on_without_it(self):
        process = self.begin(*LONG, *race())
        self.wait_for_phase(process, "audition")
        self.wait_for_event(self.run_now, "membership", count=2, timeout=120)
        process.kill()
        process.wait()
        steps = len(self.steps())
        # With so little left no audition would have repaid itself: the replay of this run, as after each test, has to judge
        # the killed process by what it was told.
        again = self.start("--resume", self.run_folder(), "--quiet", "--set", "stop.max_epochs=300")
        found = self.wait_for_event(self.run_now, "vm_step", count=steps + 1, timeout=120)
        self.assertEqual((found[steps]["phase"], found[steps]["workers"], found[steps]["machine_type"]),
                         ("dismissed", 2, "narrow"))
        self.wait_for_phase(again, "settled")
        self.finish(again)

    def test_spot_machines_that_are_lost_too_often_are_left_for_machines_on_demand(self):
        # They live for 4 s and take 6 s to come back: on demand the job is more than twice as fast.
        flighty = {"type": "flighty", "cores": 0.3, "link_megabits": 1000, "price_per_hour": 0.3, "spot_price_per_hour": 0.1,
                   "start_seconds": 6, "count": 8}
        provider = {"type": "emulated", "machines": [flighty], "spot": True, "vms": {"mode": "auto", "max_vms": 2},
                    "preemption": {"mean_life_seconds": 4, "seed": 3}}
        process = self.begin(*LONG, "--policy", "min-time", "--set", "provider=" + json.dumps(provider))
        workers = self.wait_for_phase(process, "settled")["workers"]
        self.wait_for_event(self.run_now, "recovery", count=2, timeout=120)

        def has_trained():  # on a busy machine one is mostly lost before the other is there
            of = {one["membership_epoch"]: one["workers"] for one in job.events(self.run_now, "membership")}
            return any(of[block["membership_epoch"]] == workers for block in job.trained(self.run_now))

        self.wait_until(has_trained)
        self.finish(process)
        report = job.report(self.run_now)
        numbers = report["totals"]
        self.assertEqual(self.steps("moving"), [])  # without a limit nobody is in a hurry
        # What is left takes less than half of the time that is left, if nobody is lost.
        # The mean: a processor that is rationed computes in bursts, so that most iterations are shorter.
        pace = max(one["iteration_seconds"]["mean"] for one in report["configurations"] if one["workers"] == workers)
        left = int(18 / pace)
        again = self.start("--resume", self.run_folder(), "--quiet", "--set", f"stop.max_iterations={numbers['iterations'] + left}",
                           "--set", f"stop.max_seconds={numbers['seconds'] + 45}")
        moved = self.wait_for_phase(again, "moving")
        self.assertEqual((moved["spot"], moved["machine_type"]), (False, "flighty"))
        self.assertIn("moves to machines on demand", moved["reason"])

        def all_on_demand():
            ready = {event["worker"]: event["spot"] for event in job.events(self.run_now, "machine")
                     if event["change"] == "ready"}
            indices = job.events(self.run_now, "membership")[-1]["indices"]
            return len(indices) == workers and not any(ready[worker] for worker in indices)

        self.wait_until(all_on_demand)
        self.finish(again)

    def test_a_machine_much_slower_than_its_type_is_told_and_replaced_and_the_others_stay(self):
        provider = {"type": "emulated", "vms": {"mode": "auto", "max_vms": 3},
                    "machines": [{"type": "plain", "cores": 0.1, "link_megabits": 1000, "price_per_hour": 0.3, "count": 8}],
                    "speeds": {"slow": [{"machine": 1, "speed": 0.6}]}}  # the second that is obtained
        # Each iteration computes for far longer than a processor may before it is held back: otherwise its time says little
        # of the machine. Three machines are fastest then, the slow one among them, too.
        process = self.begin(*LONG, "--policy", "min-time", "--set", "cluster.workers=3", "--set", "batch_size=2048", "--set",
                             "model.hidden=[256,256]", "--set", "provider=" + json.dumps(provider))
        replacing = self.wait_for_phase(process, "replacing")
        slow = [event["worker"] for event in job.events(self.run_now, "machine") if event["change"] == "requested"][1]
        self.assertEqual(replacing["worker"], slow, self.steps())
        self.assertIn(f"worker {slow} computes", replacing["reason"])
        before = [step for step in self.steps("settled") if step["time"] < replacing["time"]][-1]
        self.assertEqual((replacing["workers"], replacing["machine_type"]), (before["workers"] + 1, "plain"))
        self.wait_until(lambda: any(step["leaving"] == [slow] for step in self.steps("settled")))

        def others_train():  # after there was one more
            members = [set(one["indices"]) for one in job.events(self.run_now, "membership") if one["time"] > replacing["time"]]
            joined = next((one for one in members if len(one) == replacing["workers"]), None)
            return joined and slow in joined and joined - {slow} in members

        self.wait_until(others_train)
        self.finish(process)
        self.assert_nothing_was_thrown_away((2048,))

    def test_the_batch_size_is_found_together_with_the_type_and_the_number_of_machines(self):
        # With 64 samples both machines wait for their link nearly all the time, however busy this machine is: 76 kB go each way.
        # So larger batches are better whatever the noise is. Who asks for the least time does not mind the price of the dear ones,
        # so that they are not offered.
        narrow, wide, _ = MACHINES
        process = self.begin(*LONG, *race(narrow, {**wide, "link_megabits": 60}, policy="min-time", max_vms=3), "--set", "batch_size=64",
                             "--search", "auto", "--set", "search.batch_sizes=[64,256,1024]")
        self.wait_until(lambda: any(step["batch_size"] != 64 for step in self.steps()))
        chosen = next(step for step in self.steps() if step["batch_size"] != 64)

        def trains_as_planned():
            # The plan may be made again meanwhile: the last one counts.
            last, now = self.steps()[-1], job.events(self.run_now, "membership")[-1]
            return (last["phase"] == "settled" and last["batch_size"] != 64 and self.types_that_train() == {last["machine_type"]}
                    and (now["workers"], now["batch_size"]) == (last["workers"], last["batch_size"]))

        self.wait_until(trains_as_planned)
        self.finish(process)
        self.assertIn(chosen["batch_size"], (256, 1024))
        self.assertIn(f"B = {chosen['batch_size']}", chosen["reason"])
        self.assertIn(chosen["machine_type"], ("narrow", "wide"))
        self.assert_nothing_was_thrown_away((64, 256, 1024))

    def test_a_second_job_of_the_model_begins_with_what_the_first_has_measured(self):
        store = ["--set", "model_store.path=" + str(self.folder / "models.sqlite")]
        process = self.begin(*LONG, *race(max_vms=3), *store)
        self.wait_for_phase(process, "settled")
        auditioned = {step["machine_type"] for step in self.steps("audition")}
        self.assertGreater(len(auditioned), 0, self.steps())
        self.finish(process)
        self.run_now = self.run_folder("second")
        process = self.begin(*LONG, *race(max_vms=3), *store)
        settled = self.wait_for_phase(process, "settled")
        self.finish(process)
        # Of what the first has tried, nothing is tried again, and the job says why.
        again = {step["machine_type"] for step in self.steps("audition")}
        self.assertEqual(again & auditioned, set(), self.steps())
        self.assertTrue(any("known from earlier jobs" in step["reason"] for step in self.steps()), self.steps())
        self.assertIn(settled["machine_type"], ("narrow", "wide"))
        stored = json.loads((self.run_now / "stored_models.json").read_text())
        self.assertTrue(auditioned <= {row["machine"] for row in stored[0]["compute"]}, stored)
        self.assert_nothing_was_thrown_away()

    def test_what_does_not_go_together_is_refused_before_anything_starts(self):
        config = job.CONFIGS / "synthetic_mlp.json"
        for arguments, words in (([config, "--vms", "auto"], "--vms needs a provider"),
                                 ([config, *race(), "--search", "full"], "leave out --search"),
                                 ([config, *race(types="x*")], "provider.vms")):
            output = self.train(*arguments, "--run", self.run_folder("refused"), check=2)
            self.assertIn(words, output)
            self.assertFalse(self.run_folder("refused").exists())

    def test_a_type_is_calibrated_once_and_plans_of_a_job_that_never_ran_there_use_it(self):
        config, table = self.folder / "job.json", self.folder / "calibrations.csv"
        document = json.loads((job.CONFIGS / "synthetic_mlp.json").read_text())
        document.pop("$schema")
        document["cluster"]["threads_per_worker"] = 1
        document["provider"] = {"type": "emulated", "machines": [
            {"type": "large", "cores": 0.4, "price_per_hour": 0.5, "count": 2},
            {"type": "small", "cores": 0.1, "price_per_hour": 0.3, "count": 2}]}
        config.write_text(json.dumps(document))

        def call(program, *words, code=0):
            ended = subprocess.run([job.programs / program, *words], capture_output=True, text=True, timeout=240)
            self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)
            return ended.stdout + ended.stderr

        def calibrate(kind, code=0):
            return call("scavenger-ctl", "calibrate", kind, config, "--calibrations", table, "--folder",
                        self.folder / "runs", code=code)

        self.assertIn("its types: large, small", calibrate("third", code=2))
        self.assertFalse(table.exists())
        calibrate("small")
        calibrate("large")
        rates = {row["type"]: float(row["samples_per_second"]) for row in csv.DictReader(table.read_text().splitlines())}
        self.assertEqual(set(rates), {"large", "small"})
        self.assertGreater(rates["large"], 1.5 * rates["small"])  # 4, if nothing else ran on the machine
        catalogue, measured = self.folder / "catalogue.csv", self.folder / "measured.csv"
        # The catalogue believes that both have the same core.
        catalogue.write_text("type,vcpu,price\nlarge,1,0.5\nsmall,1,0.3\n")
        measured.write_text("machine,workers,batch_size,iteration_seconds\n"
                            + "".join(f"small,{k},{b},{0.01 + b / k / 1000}\n" for k in (1, 2) for b in (64, 256)))
        plan = [measured, "--samples", "60000", "--catalog", catalogue, "--json"]
        before = json.loads(call("scavenger-plan", "vms", *plan))
        after = json.loads(call("scavenger-plan", "vms", *plan, "--calibrations", table))
        evidence = lambda rows: {row["groups"][0]["type"]: row["evidence"] for row in rows["rows"]}
        self.assertEqual(evidence(before)["large"], "catalogue")
        self.assertEqual(evidence(after)["large"], "calibrated")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    job.main()
