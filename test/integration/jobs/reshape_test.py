"""A running job is told by scavenger-ctl to go on with another K and B: it does not stop, and no sample is lost."""

import concurrent.futures
import json
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

CONFIG = [job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "stop.target=null", "--set", "evaluation.every_epochs=100000"]
ENDLESS = [*CONFIG, "--set", "stop.max_epochs=100000"]


class ReshapeTest(job.JobTest):
    def ctl(self, run, *arguments, check=0):
        done = subprocess.run([str(job.programs / "scavenger-ctl"), str(run), *map(str, arguments)], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180,
                              env=self.environment())
        if check is not None:
            self.assertEqual(done.returncode, check, done.stdout)
        return done.stdout

    def resize(self, run, workers, batch_size):
        self.ctl(run, "resize", "--workers", workers, "--batch-size", batch_size, "--wait")
        # Some iterations at that size.
        before = len(job.trained(run))
        self.wait_for_event(run, "iterations", before + 2)

    def stop(self, run, process):
        self.ctl(run, "stop")
        output, _ = process.communicate(timeout=180)
        self.assertEqual(process.returncode, 130, output)

    def assert_no_sample_is_lost(self, run):
        """Each membership begins where the one before ended, and iterations follow each other."""
        memberships = job.events(run, "membership")
        position, iteration, batch_size = 0, 0, memberships[0]["batch_size"]
        for membership in memberships:
            position += (membership["first_iteration"] - iteration) * batch_size
            self.assertEqual(membership["position"], position)
            self.assertEqual(sum(membership["shares"]), membership["batch_size"])
            self.assertEqual(len(membership["shares"]), membership["workers"])
            iteration, batch_size = membership["first_iteration"], membership["batch_size"]
        done = 0
        for event in job.trained(run):
            self.assertEqual(event["first"], done)
            done += event["count"]
        end = job.events(run, "end")[-1]
        self.assertEqual(done, end["iteration"])
        self.assertEqual(end["position"], position + (done - iteration) * batch_size)

    def reshape_at_work(self, *settings):
        run = self.run_folder()
        process = self.start(*ENDLESS, "--workers", 2, "--batch-size", 128, "--run", run, *settings)
        self.wait_for_event(run, "iterations")
        for workers, batch_size in [(4, 512), (1, 64), (3, 128)]:
            self.resize(run, workers, batch_size)
        self.stop(run, process)

        sizes = [(m["workers"], m["batch_size"]) for m in job.events(run, "membership")]
        self.assertEqual([size for i, size in enumerate(sizes) if size not in sizes[:i]],
                         [(2, 128), (4, 512), (1, 64), (3, 128)], sizes)
        self.assert_no_sample_is_lost(run)
        self.assertEqual(job.events(run, "process_lost"), [])
        # Whoever could stay, stayed: 2 and 2 more; all but one left; 2 more.
        started = [event for event in job.events(run, "process_started") if event["role"] == "worker"]
        self.assertEqual(len(started), 2 + 2 + 2)
        pauses = [event["seconds"] for event in job.events(run, "recovery")]
        print("pauses:", *(f"{1e3 * seconds:.0f} ms" for seconds in pauses))
        return run

    def test_k_and_b_change_while_it_trains_in_shared_memory(self):
        self.reshape_at_work()

    def test_k_and_b_change_while_it_trains_over_tcp(self):
        self.reshape_at_work("--set", "sync.transport=tcp", "--set", "ps.shards=2")

    def test_k_and_b_change_while_it_trains_by_all_reduce(self):
        self.reshape_at_work("--set", "sync.strategy=gloo")

    def test_three_clients_that_resize_at_once(self):
        """Whoever asks last is obeyed, also while the change before is under way, and no sample is lost."""
        run = self.run_folder()
        process = self.start(*ENDLESS, "--workers", 2, "--batch-size", 96, "--run", run)
        self.wait_for_event(run, "iterations")

        def client(seed):
            chance = random.Random(seed)
            for _ in range(12):
                self.ctl(run, "resize", "--workers", chance.randint(1, 4), "--batch-size", chance.choice((64, 96, 128)))
                if chance.random() < 0.5:  # else the next one comes while this change is under way
                    self.wait_for_event(run, "iterations", len(job.trained(run)) + 1)

        with concurrent.futures.ThreadPoolExecutor(3) as clients:
            list(clients.map(client, range(3)))  # raises what went wrong in one
        self.resize(run, 2, 160)
        self.stop(run, process)
        last = job.events(run, "membership")[-1]
        self.assertEqual((last["workers"], last["batch_size"]), (2, 160))
        self.assertGreaterEqual(len(job.events(run, "membership")), 3)
        self.assert_no_sample_is_lost(run)

    def test_a_job_that_was_reshaped_reaches_its_target(self):
        """The first evaluation comes when all changes are made, and what they have trained is good enough."""
        run = self.run_folder()
        process = self.start(job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "optimizer.learning_rate=0.01", "--set",
                             "stop.max_epochs=100000", "--set", "evaluation.every_epochs=1000", "--workers", 2, "--batch-size", 128,
                             "--run", run)
        self.wait_for_event(run, "iterations")
        for workers, batch_size in [(4, 512), (1, 64), (3, 128)]:
            self.resize(run, workers, batch_size)
        output, _ = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 0, output)
        self.assertEqual(job.report(run)["status"], "target_reached")
        self.assertEqual(job.events(run, "membership")[-1]["workers"], 3)
        self.assert_no_sample_is_lost(run)

    def compare_with_a_fixed_job(self, *settings):
        """2 to 4 to 1 to 3 workers with the same B: the loss of each iteration is that of a job that had 2 throughout."""
        same = ["--set", "batch_size=64", "--set", "optimizer.learning_rate=0.005", *settings]
        fixed, reshaped = self.run_folder("fixed"), self.run_folder("reshaped")
        process = self.start(*ENDLESS, *same, "--workers", 2, "--run", reshaped)
        self.wait_for_event(reshaped, "iterations")
        for workers in (4, 1, 3):
            self.resize(reshaped, workers, 64)
        self.stop(reshaped, process)
        done = job.events(reshaped, "end")[-1]["iteration"]
        self.train(*CONFIG, *same, "--set", "stop.max_epochs=100000", "--set", f"stop.max_iterations={done}", "--workers", 2, "--run", fixed)

        curves = [[loss for event in job.events(run, "iterations") for loss in event["loss"]] for run in (fixed, reshaped)]

        sizes = [event["workers"] for event in job.events(reshaped, "membership")]
        self.assertEqual([size for i, size in enumerate(sizes) if size not in sizes[:i]], [2, 4, 1, 3])
        self.assertEqual(len(curves[0]), len(curves[1]))
        print(f"largest difference of {done} losses: {max(abs(a - b) for a, b in zip(*curves)):.1e}")
        for iteration, (a, b) in enumerate(zip(*curves)):
            self.assertAlmostEqual(a, b, delta=1e-4, msg=f"iteration {iteration}")

    def test_with_the_same_batch_the_loss_is_that_of_a_job_that_was_not_reshaped(self):
        self.compare_with_a_fixed_job()

    def test_with_the_same_batch_the_loss_is_the_same_over_tcp(self):
        self.compare_with_a_fixed_job("--set", "sync.transport=tcp", "--set", "ps.shards=2")

    def test_with_the_same_batch_the_loss_is_the_same_by_all_reduce(self):
        self.compare_with_a_fixed_job("--set", "sync.strategy=gloo")

    def test_it_answers_pauses_goes_on_checkpoints_and_stops(self):
        run = self.run_folder()
        process = self.start(*ENDLESS, "--workers", 2, "--run", run, "--set", "checkpoint.every_epochs=100000",
                             "--set", "checkpoint.every_iterations=1000000")
        self.wait_for_event(run, "iterations")

        self.ctl(run, "checkpoint")
        self.wait_for_event(run, "checkpoint")
        self.ctl(run, "pause")
        self.wait_for_event(run, "checkpoint", 2)
        paused = json.loads(self.ctl(run, "status", "--json"))
        self.assertEqual(json.loads(self.ctl(run, "status", "--json"))["iteration"], paused["iteration"])
        self.assertEqual(paused["state"], "paused")
        self.assertIn("paused", self.ctl(run, "status"))
        self.ctl(run, "resize", "--workers", 1, "--batch-size", 32)  # taken up at once, to be used later
        self.ctl(run, "continue")
        self.ctl(run, "resize", "--workers", 1, "--batch-size", 32, "--wait")
        self.assertEqual(json.loads(self.ctl(run, "status", "--json"))["workers"], 1)
        self.stop(run, process)
        self.assertIn("scavenger-ctl", job.events(run, "end")[-1]["reason"])

        self.assert_no_sample_is_lost(run)
        self.assertFalse((run / "control.sock").exists())
        # Resumed, it goes on with the size that it had.
        self.train("--resume", run, "--quiet", "--set", "stop.max_epochs=1")
        self.assertEqual(job.events(run, "membership")[-1]["workers"], 1)

    def test_what_cannot_be_is_refused_with_the_reason(self):
        run = self.run_folder()
        self.assertIn("no such run folder", self.ctl(run, "status", check=2))
        process = self.start(*ENDLESS, "--workers", 2, "--run", run)
        self.wait_for_event(run, "iterations")

        self.assertIn("too small for 4 workers", self.ctl(run, "resize", "--workers", 4, "--batch-size", 3, check=2))
        self.assertIn("larger than the data set", self.ctl(run, "resize", "--batch-size", 10**8, check=2))
        self.assertIn("too many", self.ctl(run, "resize", "--workers", 5000, check=2))
        self.assertIn("workers or batch_size", self.ctl(run, "resize", check=2))
        self.assertEqual((run / "control.sock").stat().st_mode & 0o777, 0o600)
        self.stop(run, process)
        self.assertIn("no job runs there", self.ctl(run, "status", check=2))


if __name__ == "__main__":
    job.main()
