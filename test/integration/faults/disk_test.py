"""What a disk does to a job: it is full, files may not grow, a checkpoint is damaged, files and folders are removed."""

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

SYNTHETIC = job.CONFIGS / "synthetic_mlp.json"
THREE_EPOCHS = [SYNTHETIC, "--set", "stop.target=null", "--set", "stop.max_epochs=3"]
ENDLESS = [SYNTHETIC, "--set", "stop.target=null", "--set", "stop.max_epochs=1000000"]


class FullOutputTest(job.JobTest):
    def test_an_answer_that_could_not_be_written_is_an_error(self):
        table = self.folder / "table.csv"
        table.write_text("workers,batch_size,iteration_seconds\n1,64,0.1\n2,64,0.06\n1,128,0.19\n2,128,0.1\n")
        for words in (["scavenger-train", SYNTHETIC, "--print-config"], ["scavenger-plan", table, "--samples", 60000], ["scavenger-ctl", "list", "--json"],
                      ["scavenger-ctl", "--generate-completion", "bash"], ["scavenger-report", "--help"],
                      ["scavenger-campaign", job.CONFIGS / "electrolyte_small.json", "--print-config"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([job.programs / words[0], *map(str, words[1:])], stdout=full, stderr=subprocess.PIPE, text=True, timeout=180)
            self.assertEqual(done.returncode, 1, words)
            self.assertEqual(done.stderr.count("standard output: cannot be written"), 1, done.stderr)
        # Who has read enough is no error.
        done = subprocess.run(f"{job.programs}/scavenger-train {SYNTHETIC} --print-config | head -n 1; exit ${{PIPESTATUS[0]}}", shell=True,
                              executable="/bin/bash", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=180)
        self.assertEqual((done.stdout, done.stderr), ("{\n", ""))


class FullDiskTest(job.JobTest):
    def small_disk(self, size):
        mount = self.folder / "small"
        mount.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", mount],
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("a small file system can be mounted by root only")
        self.addCleanup(subprocess.run, ["umount", "-l", mount])
        return mount

    def test_a_job_without_weights_of_its_end_has_failed_and_goes_on_when_there_is_room(self):
        mount = self.small_disk("4m")
        run = mount / "run"
        # The weights with their momentum have more than 4 MiB.
        large = [*THREE_EPOCHS, "--set", "model.hidden=[40000]"]
        output = self.train(*large, "--run", run, check=1)

        self.assertEqual(job.checkpoints(run), [])
        self.assertIn("the weights of the end could not be written", output)
        self.assertIn("make room", output)
        self.assertEqual(job.report(run)["status"], "failed")
        self.assertEqual(job.events(run, "end")[-1]["exit_code"], 1)
        # The end's checkpoint was tried again.
        failed = job.events(run, "checkpoint_failed")
        self.assertGreaterEqual([one["iteration"] for one in failed].count(failed[-1]["iteration"]), 4)

        subprocess.run(["mount", "-o", "remount,size=64m", mount], check=True)
        self.train("--resume", run, "--quiet")
        self.assertEqual(job.checkpoints(run)[-1].name, "iteration_000000192")

    def test_room_that_is_made_while_the_job_ends_is_used(self):
        mount = self.small_disk("4m")
        run = mount / "run"
        process = self.start(*THREE_EPOCHS, "--set", "model.hidden=[40000]", "--run", run,
                             "--set", "checkpoint.every_epochs=100")
        self.wait_for_event(run, "checkpoint_failed")
        subprocess.run(["mount", "-o", "remount,size=64m", mount], check=True)
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, output)
        self.assertEqual(job.checkpoints(run)[-1].name, "iteration_000000192")

    def test_a_report_that_could_not_be_written_is_not_advertised(self):
        mount = self.small_disk("100k")
        output = self.train(*THREE_EPOCHS, "--run", mount / "run", check=1)
        self.assertNotIn("report.json)", output)

    def test_files_that_may_not_grow_are_told_and_kill_nobody(self):
        run = self.run_folder("changed_by_limit")
        limit = 200 * 1024  # of a file: less than the weights have
        done = subprocess.run(self.command(*THREE_EPOCHS, "--set", "model.hidden=[40000]", "--run", run),
                              env=self.environment(), cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("File too large", done.stdout)


class RemovedTest(job.JobTest):
    def remove_and_end(self, what):
        run = self.run_folder(f"changed_{what}")
        process = self.start(*ENDLESS, "--run", run)
        self.wait_for_event(run, "checkpoint")
        if what == "events":
            (run / "events.jsonl").unlink()
        else:
            os.rename(run, self.folder / "going")  # at once: the job writes to it meanwhile
            shutil.rmtree(self.folder / "going")
        line = ""
        while "was removed while the job trains" not in line:
            line = process.stdout.readline()
            self.assertNotEqual(line, "", "the removal was not told")
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 1, output)

    def test_an_event_log_that_is_removed_is_told_and_the_job_fails(self):
        self.remove_and_end("events")

    def test_a_run_folder_that_is_removed_is_told_and_the_job_fails(self):
        self.remove_and_end("folder")


class DamageTest(job.JobTest):
    """Whatever happens to a checkpoint, the one before it is used, without waiting and without reading for ever."""

    def stopped_run(self):
        run = self.run_folder("whole")
        self.train(*THREE_EPOCHS, "--run", run, "--quiet", "--set", "checkpoint.every_iterations=50")
        return run

    def damages(self, checkpoint):
        def replaced_by(make):
            def damage(path):
                path.unlink()
                make(path)
            return damage

        def flip(path):
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)

        def without_config(path):
            state = json.loads(path.read_text())
            del state["config"]
            path.write_text(json.dumps(state))

        kinds = {"flipped": flip, "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
                 "empty": lambda path: os.truncate(path, 0), "gone": lambda path: path.unlink(),
                 "pipe": replaced_by(os.mkfifo), "folder": replaced_by(os.mkdir),
                 "endless": replaced_by(lambda path: path.symlink_to("/dev/zero"))}
        for file in ("manifest.json", "state.json", "weights.safetensors", "optimizer.safetensors"):
            for name, damage in kinds.items():
                yield f"{file} {name}", lambda copy, file=file, damage=damage: damage(copy / file)
        yield "state.json without config", lambda copy: without_config(copy / "state.json")

    def test_the_checkpoint_before_a_damaged_one_is_used(self):
        whole = self.stopped_run()
        weights = job.last_weights(whole)
        last = job.checkpoints(whole)[-1].name
        for name, damage in self.damages(last):
            with self.subTest(damage=name):
                run = self.run_folder("changed") / "run"
                shutil.rmtree(run.parent, ignore_errors=True)
                run.parent.mkdir()
                subprocess.run(["cp", "-a", whole, run], check=True)
                damage(run / "checkpoints" / last)
                output = self.train("--resume", run, timeout=120)
                self.assertIn("passed over", output)
                self.assertNotIn("json.exception", output)
                self.assertEqual(job.last_weights(run), weights)


class EditedConfigurationTest(job.JobTest):
    def test_an_edited_configuration_cannot_make_it_another_job(self):
        run = self.run_folder()
        self.train(*THREE_EPOCHS, "--run", run, "--quiet", "--set", "stop.max_iterations=60")
        path = run / "config.json"
        config = json.loads(path.read_text())

        def with_change(change):
            edited = json.loads(path.read_text())
            change(edited)
            return json.dumps(edited)

        def adam(edited):
            edited["optimizer"] = {"type": "adam", "learning_rate": 0.001}

        edits = {"seed": with_change(lambda edited: edited.update(seed=9)),
                 "data": with_change(lambda edited: edited["data"]["train"].update(samples=2048)),
                 "optimizer.type": with_change(adam)}
        for name, text in edits.items():
            path.write_text(text)
            output = self.train("--resume", run, "--set", "stop.max_iterations=null", check=2, timeout=180)
            self.assertIn(f"{name} differs from that of the checkpoint", output)
            self.assertIn("config.json", output)

        config["optimizer"]["learning_rate"] = 0.02
        path.write_text(json.dumps(config))
        self.train("--resume", run, "--quiet", "--set", "stop.max_iterations=70")


if __name__ == "__main__":
    job.main()
