"""A job goes on where its last checkpoint is: with the same bits at the same K, and to its target at any other."""

import os
import pathlib
import random
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

CONFIG = [job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "stop.target=null"]
# Long enough to be killed in the middle: 8 epochs of 256 iterations, a checkpoint every 100 iterations.
LONG = CONFIG + ["--workers", 2, "--set", "batch_size=16", "--set", "stop.max_epochs=8",
                 "--set", "checkpoint.every_iterations=100"]


class ResumeTest(job.JobTest):
    def uninterrupted(self):
        self.train(*LONG, "--run", self.run_folder("whole"))
        return job.last_weights(self.run_folder("whole"))

    def test_killed_at_random_instants_and_resumed_it_ends_with_the_bits_of_an_uninterrupted_run(self):
        seed = int(os.environ.get("SCAVENGER_TEST_SEED", time.time_ns() % 10**6))
        print(f"SCAVENGER_TEST_SEED={seed}")
        instants = random.Random(seed)
        whole = self.uninterrupted()
        run = self.run_folder()
        arguments = [*LONG, "--run", run]
        for _ in range(4):
            process = self.start(*arguments)
            time.sleep(instants.uniform(0.05, 1.5))
            process.send_signal(signal.SIGKILL)
            process.wait()
            if run.exists() and (run / "config.json").exists():
                arguments = ["--resume", run, "--quiet"]

        self.train(*arguments)

        self.assertEqual(job.last_weights(run), whole)
        self.assertEqual(job.report(run)["status"], "max_epochs")

    def test_ctrl_c_writes_a_checkpoint_and_exits_130_and_resume_goes_on(self):
        whole = self.uninterrupted()
        run = self.run_folder()
        process = self.start(*LONG, "--run", run)
        self.wait_for_event(run, "iterations")

        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=180)

        self.assertEqual(process.returncode, 130, output)
        end = job.events(run, "end")[-1]
        self.assertEqual(end["status"], "interrupted")
        self.assertEqual(job.checkpoints(run)[-1].name, f"iteration_{end['iteration']:09d}")
        self.assertLess(end["iteration"], 2048, "the run was over before it was interrupted")
        self.train("--resume", run, "--quiet")
        self.assertEqual(job.last_weights(run), whole)

    def test_ctrl_c_twice_ends_at_once(self):
        run = self.run_folder()
        process = self.start(*LONG, "--run", run, "--set", "checkpoint.every_iterations=100000")
        self.wait_for_event(run, "iterations")
        # A stopped worker cannot finish its iteration, so only the second signal can end the job.
        worker = job.events(run, "process_started")[-1]["pid"]
        os.kill(worker, signal.SIGSTOP)

        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)

        self.assertEqual(process.wait(timeout=10), 130)

    def test_a_job_goes_on_with_other_workers_and_reaches_its_target(self):
        run = self.run_folder()
        common = ["--set", "stop.target.value=0.97"]
        self.train(job.CONFIGS / "synthetic_mlp.json", "--quiet", "--run", run, "--workers", 2, *common,
                   "--set", "stop.max_iterations=20")
        self.train("--resume", run, "--quiet", "--workers", 4, "--set", "stop.max_iterations=50")
        self.train("--resume", run, "--quiet", "--workers", 1, "--set", "stop.max_iterations=null",
                   "--set", "stop.max_epochs=40")

        report = job.report(run)
        self.assertEqual(report["status"], "target_reached")
        self.assertEqual([event["workers"] for event in job.events(run, "membership")], [2, 4, 1])
        self.assertEqual([event["first_iteration"] for event in job.events(run, "membership")], [0, 20, 50])

    def test_a_resume_with_another_batch_size_keeps_the_place_in_the_data(self):
        run = self.run_folder()
        self.train(*CONFIG, "--run", run, "--set", "stop.max_iterations=30")
        self.train("--resume", run, "--quiet", "--batch-size", 128, "--set", "stop.max_iterations=40")

        second = job.events(run, "membership")[-1]
        self.assertEqual((second["position"], second["batch_size"]), (30 * 64, 128))
        self.assertEqual(job.events(run, "end")[-1]["position"], 30 * 64 + 10 * 128)

    def test_resuming_a_finished_job_changes_nothing(self):
        run = self.run_folder()
        self.train(*CONFIG, "--run", run, "--set", "stop.max_iterations=30")
        before = job.last_weights(run)

        self.train("--resume", run, "--quiet")

        self.assertEqual(job.last_weights(run), before)
        self.assertEqual(job.events(run, "end")[-1]["iteration"], 30)

    def test_a_job_killed_before_its_last_report_gets_it_when_it_is_resumed(self):
        run = self.run_folder()
        self.train(*CONFIG, "--run", run, "--set", "stop.max_iterations=30")
        whole = (run / "report.json").read_text()
        for left in (whole.replace('"status": "max_iterations"', '"status": "running"'), None):
            if left is None:
                (run / "report.json").unlink()
            else:
                self.assertNotEqual(left, whole)
                (run / "report.json").write_text(left)

            self.train("--resume", run, "--quiet")

            self.assertEqual((run / "report.json").read_text(), whole)


class DamageTest(job.JobTest):
    def finished_run(self):
        run = self.run_folder()
        self.train(*CONFIG, "--run", run, "--set", "stop.max_iterations=30", "--set", "checkpoint.every_iterations=10")
        return run

    def test_damage_to_the_log_of_decisions_is_no_condition_for_going_on(self):
        """It says which provider the job had before, whose machines may be left."""
        run = self.finished_run()
        log, damage = run / "decisions.jsonl", '{"begin":{"version":"0.1.0"}}\n'
        log.write_text(damage + log.read_text())
        self.assertIn("may still be there", self.train("--resume", run, "--set", "stop.max_iterations=40"))
        self.assertEqual(job.report(run)["totals"]["iterations"], 40)
        log.write_text(log.read_text().replace(damage, "", 1))  # each run's decisions are replayed

    def test_one_flipped_byte_is_found_named_and_the_checkpoint_before_is_used(self):
        run = self.finished_run()
        *_, before, last = job.checkpoints(run)
        file = last / "weights.safetensors"
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)

        self.train("--resume", run, "--set", "stop.max_iterations=35")

        damaged = job.events(run, "checkpoint_damaged")
        self.assertEqual(len(damaged), 1)
        self.assertIn("weights.safetensors", damaged[0]["reason"])
        self.assertEqual(job.events(run, "start")[-1]["resumed_from_iteration"], int(before.name.split("_")[1]))

    def test_a_half_written_checkpoint_is_passed_over(self):
        run = self.finished_run()
        *_, before, last = job.checkpoints(run)
        (last / "state.json").unlink()

        self.train("--resume", run, "--quiet", "--set", "stop.max_iterations=35")

        self.assertEqual(job.events(run, "start")[-1]["resumed_from_iteration"], int(before.name.split("_")[1]))

    def test_a_checkpoint_of_another_model_is_refused(self):
        run = self.finished_run()
        config = run / "config.json"
        config.write_text(config.read_text().replace("32", "48", 1) if '"hidden": [\n      32' in config.read_text()
                          else config.read_text().replace("32\n", "48\n", 1))

        output = self.train("--resume", run, check=2)

        self.assertIn("model differs from that of the checkpoint", output)


if __name__ == "__main__":
    job.main()
