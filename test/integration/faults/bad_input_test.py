"""Bad input gets one clear error that names the place and the remedy, exit code 2, and nothing was started."""

import gzip
import hashlib
import os
import pathlib
import socket
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

SYNTHETIC = job.CONFIGS / "synthetic_mlp.json"


def idx_images(count, pixels=16):
    return struct.pack(">IIII", 0x803, count, pixels, pixels) + bytes(count * pixels * pixels)


def idx_labels(labels):
    return struct.pack(">II", 0x801, len(labels)) + bytes(labels)


class BadInputTest(job.JobTest):
    def refuse(self, *arguments, says, code=2):
        output = self.train(*arguments, check=code)
        errors = [line for line in output.splitlines() if line.startswith("scavenger-train: ")]
        self.assertEqual(len(errors), 1, output)
        for part in says:
            self.assertIn(part, errors[0])
        self.assertEqual(job.events(self.run_folder()), [], "something was started")

    def config(self, text):
        path = self.folder / "job.json"
        path.write_text(text)
        return path

    # ---- The configuration. ----

    def test_malformed_json_is_located(self):
        self.refuse(self.config('{\n  "name": "x",\n  "seed": }\n'), says=["job.json:3"])

    def test_an_unknown_key_brings_the_nearest_known_one(self):
        self.refuse(self.config(SYNTHETIC.read_text().replace('"batch_size"', '"batchsize"')),
                    says=["job.json", "batchsize", "batch_size"])

    def test_a_wrong_type_a_wrong_range_and_a_missing_key(self):
        self.refuse(SYNTHETIC, "--set", "seed=many", says=["--set seed=many", "seed"])
        self.refuse("--set", "seed=many", SYNTHETIC, says=["--set seed=many", "seed"])
        self.refuse(SYNTHETIC, "--set", "optimizer.learning_rate=-1", says=["optimizer.learning_rate", "-1"])
        self.refuse(SYNTHETIC, "--set", "data.train=null", says=["train"])
        self.refuse(SYNTHETIC, "--set", ".seed=3", says=["--set .seed=3", "is empty"])

    def test_a_missing_configuration_and_no_configuration(self):
        self.refuse("nowhere.json", says=["nowhere.json"], code=None)
        self.refuse(says=["nothing to train"])

    def test_a_wrong_command_line(self):
        self.refuse(SYNTHETIC, "--batch-size", 0, says=["--batch-size", '"0" is no number above 0', "--help"])
        self.refuse(SYNTHETIC, "--workers", "many", says=["--workers", '"many"'])
        self.refuse(SYNTHETIC, "--no-such-option", says=["--no-such-option"])
        self.refuse(SYNTHETIC, "--run", "", says=["--run: the name is empty"])
        self.refuse("--resume", "", says=["--resume: the name is empty"])
        self.refuse(SYNTHETIC, "--workers", "inf", says=["--workers", '"inf"'])
        self.refuse("--evaluate", "run", "--set", "data.test.samples=7", says=["--evaluate excludes --set"])

    def test_a_wrong_command_line_of_a_program_that_trains_nothing(self):
        for line, says in ((("scavenger-plan", "--price", "-1"), '"-1" is no number from 0 on'),
                           (("scavenger-plan", "--samples", "0"), '"0" is no number above 0'),
                           (("scavenger-plan", "vms", "x.csv", "--start-seconds", "inf"), '"inf" is no number from 0 on'),
                           (("scavenger-plan", "vms", "x.csv", "--max-time", "inf"), '"inf" is no duration'),
                           (("scavenger-ctl", "r2", "stat"), 'there is no command "stat"; did you mean "status"?'),
                           (("scavenger-campaign", "--set", "machines.count=0", job.CONFIGS / "electrolyte_small.json"), "machines.count"),
                           (("scavenger-ctl", "gcp", "list", "--zone", "us-central1-c", "nowhere.json"), "nowhere.json"),
                           (("scavenger-ctl", "status", "r2"), "the run folder comes first: scavenger-ctl r2 status"),
                           (("scavenger-ctl", "resize", "--workers", "x"), '"x" is no number above 0'),
                           (("scavenger-md", "fluid", "--until", "9", "--folder", ""), "--folder: the name is empty"),
                           (("scavenger-export", "", "x"), "RUN: the name is empty"),
                           (("scavenger-predict", ""), "RUN: the name is empty"),
                           (("scavenger-campaign", "x.json", "--retry-failed"), "--retry-failed requires --resume"),
                           (("scavenger-campaign", "--replay", "run", "--machines", "3"), "--replay excludes --machines"),
                           (("scavenger-campaign", "--resume", "run", "--print-config"), "--resume excludes --print-config"),
                           (("scavenger-plan", "x.csv", "--html", ""), "--html: the name is empty")):
            done = subprocess.run([str(job.programs / line[0]), *line[1:]], text=True, capture_output=True, timeout=180)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def plan_refuses(self, *words, says):
        done = subprocess.run([job.programs / "scavenger-plan", *map(str, words)], text=True, capture_output=True, timeout=180)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(says, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(done.stderr.count("scavenger-plan: "), int("scavenger-plan vms" not in done.stderr), done.stderr)

    def test_a_plan_does_not_ignore_what_it_cannot_use(self):
        for words, says in (("x.csv --mode none", "--mode none: the models of a store are asked for"),
                            ("x.csv --model 1", "--model requires --store"),
                            ("x.csv --token-file f", "--token-file requires --store"),
                            ("x.csv --seeds 3", "--seeds requires --simulate"),
                            ("x.csv --simulate --json", "--json excludes --simulate"),
                            ("x.csv --shares even", "--shares requires --machines"),
                            ("x.csv --phase 0", '"0" is no number above 0'),
                            ("--policy min-cost prices", "--policy: it stands before the command prices"),
                            ("prices --region mars", 'there are no prices of "mars"'),
                            ("prices --region us-central", 'did you mean "us-central1"?'),
                            ("vms x.csv --catalog m.csv --region mars", "only --catalog gcp has regions"),
                            ("vms x.csv --region mars", 'there are no prices of "mars"'),
                            ("prices --key-file f", "--key-file requires --refresh"),
                            ("prices --refresh f --region us-central1", "--region excludes --refresh")):
            self.plan_refuses(*words.split(), says=says)
        empty = self.folder / "empty.json"
        empty.write_text("{}")
        self.plan_refuses(empty, says="this is no exported model")

    def test_what_never_ends_is_neither_a_table_nor_a_store_nor_waited_for(self):
        pipe, table, machines = (self.folder / name for name in ("pipe", "table.csv", "machines.csv"))
        os.mkfifo(pipe)
        machines.write_text("type,vcpu,price\nsmall,2,0.1\n")
        table.write_text("workers,batch_size,iteration_seconds\n1,64,0.1\n2,64,0.06\n2,128,0.1\n")
        for endless in (pipe, pathlib.Path("/dev/zero")):
            says = f"{endless}: is not a regular file"
            self.plan_refuses(endless, says=says)
            self.plan_refuses("vms", endless, "--catalog", machines, says=says)
            self.plan_refuses("vms", table, "--catalog", endless, says=says)
            self.plan_refuses("vms", table, "--coremark", endless, says=says)
            self.plan_refuses("vms", table, "--calibrations", endless, says=says)
            self.plan_refuses("again", endless, "--job", "x", "--catalog", machines, says=says)
            self.plan_refuses("prices", "--catalog", endless, says=says)
            self.plan_refuses("list", "--store", endless, says=says)
            self.plan_refuses("record", table, "--store", endless, says=says)
            self.refuse(SYNTHETIC, "--set", f"model_store.path={endless}", "--run", self.run_folder(),
                        says=[f"{endless}: is not a regular file"])

    def test_a_store_that_is_not_there(self):
        for store in (self.folder / "none.sqlite", self.folder / "nowhere" / "none.sqlite"):
            self.plan_refuses("list", "--store", store, says=f"{store}: there is no store; a job makes one")
        (self.folder / "file").write_text("")
        self.refuse(SYNTHETIC, "--set", f"model_store.path={self.folder / 'file' / 'store'}", "--run", self.run_folder(),
                    says=["file: is not a folder"])

    def test_a_message_has_the_programs_name_once(self):
        empty = self.folder / "machines.csv"
        empty.write_text("type,vcpu,price\nsmall,2,0.1\n")
        table = self.folder / "table.csv"
        table.write_text("workers,batch_size,iteration_seconds,machine\n1,64,0.1,small\n2,64,0.06,small\n2,128,0.1,small\n")
        self.plan_refuses("vms", table, "--catalog", empty, "--types", "x*", says="scavenger-plan vms: ")

    def test_more_workers_than_samples_in_a_batch(self):
        self.refuse(SYNTHETIC, "--workers", 65, "--run", self.run_folder(), says=["65", "64"])

    def test_values_that_contradict_each_other(self):
        self.refuse(SYNTHETIC, "--set", "model.type=cnn", "--set", "model.hidden=null", "--set", "model.channels=[8]",
                    "--set", "model.dense=16", says=["cnn"])

    # ---- The data. ----

    def idx_config(self, images, labels, classes=10):
        (self.folder / "images").write_bytes(images)
        (self.folder / "labels").write_bytes(labels)
        source = '{"format": "idx", "features": "images", "labels": "labels"}'
        return self.config(f'{{"name": "x", "data": {{"train": {source}, "test": {source}, "classes": {classes}}},'
                           '"model": {"type": "mlp", "hidden": [8]}, "optimizer": {"type": "sgd", "learning_rate": 0.1},'
                           '"batch_size": 4, "stop": {"max_epochs": 1}}')

    def test_good_idx_files_are_taken(self):
        self.train(self.idx_config(idx_images(8), idx_labels([1] * 8)), "--quiet")

    def test_a_missing_data_file(self):
        config = self.idx_config(idx_images(8), idx_labels([1] * 8))
        (self.folder / "images").unlink()
        self.refuse(config, says=["images"])

    def test_a_truncated_data_file_plain_and_gzip(self):
        self.refuse(self.idx_config(idx_images(8)[:-1], idx_labels([1] * 8)), says=["images"])
        self.refuse(self.idx_config(gzip.compress(idx_images(8))[:-9], idx_labels([1] * 8)), says=["images"])

    def test_a_label_file_given_as_images_and_the_other_way_round(self):
        self.refuse(self.idx_config(idx_labels([1] * 8), idx_labels([1] * 8)), says=["images"])
        self.refuse(self.idx_config(idx_images(8), idx_images(8)), says=["labels"])

    def test_more_images_than_labels(self):
        self.refuse(self.idx_config(idx_images(8), idx_labels([1] * 7)), says=["8", "7"])

    def test_a_label_out_of_range_names_the_sample(self):
        self.refuse(self.idx_config(idx_images(8), idx_labels([1, 2, 3, 12, 1, 1, 1, 1])), says=["12", "3"])

    # ---- The surroundings. ----

    def test_a_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.refuse(SYNTHETIC, "--set", f"ps.port={port}", "--run", self.run_folder(), says=[str(port), "in use"])

    def test_a_run_folder_of_this_job_of_another_job_and_of_something_else(self):
        taken = self.run_folder("taken")
        self.train(SYNTHETIC, "--run", taken, "--quiet")
        self.refuse(SYNTHETIC, "--run", taken, says=["already holds this job", "--resume"])
        self.refuse(SYNTHETIC, "--run", taken, "--set", "seed=5", says=["another job"])
        (self.folder / "other").mkdir()
        (self.folder / "other" / "thesis.txt").write_text("")
        self.refuse(SYNTHETIC, "--run", self.folder / "other", says=["no job"])

    def test_resuming_what_is_not_a_job_or_with_another_seed(self):
        self.refuse("--resume", self.folder, says=["config.json is missing"])
        run = self.run_folder("done")
        self.train(SYNTHETIC, "--run", run, "--quiet")
        self.refuse("--resume", run, "--set", "seed=5", says=["seed", "another job"])

    def test_a_second_controller_on_the_same_run(self):
        run = self.run_folder()
        first = self.start(SYNTHETIC, "--run", run, "--set", "stop.target=null", "--set", "stop.max_epochs=100000",
                           "--set", "checkpoint.every_epochs=1")
        self.wait_for_event(run, "checkpoint")

        output = self.train("--resume", run, check=2)

        self.assertIn("another process", output)
        self.assertIsNone(first.poll())

    def test_a_checkpoint_of_a_newer_format(self):
        run = self.run_folder("done")
        self.train(SYNTHETIC, "--run", run, "--quiet")
        for checkpoint in job.checkpoints(run):
            manifest = checkpoint / "manifest.json"
            body = manifest.read_text().rsplit('  "manifest_sha256"', 1)[0]
            self.assertIn('"format_version": 1,', body)
            body = body.replace('"format_version": 1,', '"format_version": 99,')
            seal = hashlib.sha256(body.encode()).hexdigest()
            manifest.write_text(f'{body}  "manifest_sha256": "{seal}"\n}}\n')
        self.refuse("--resume", run, says=["newer"])

    def test_a_run_folder_that_cannot_be_written(self):
        (self.folder / "file").write_text("")
        output = self.train(SYNTHETIC, "--run", self.folder / "file" / "run", check=None)
        self.assertIn("run folder", output)

    def test_a_full_disk_stops_no_training(self):
        mount = self.folder / "small"
        mount.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", mount]).returncode != 0:
            self.skipTest("a small file system can be mounted by root only")
        self.addCleanup(subprocess.run, ["umount", "-l", mount])
        run = mount / "run"
        self.train(SYNTHETIC, "--run", run, "--quiet", "--set", "stop.target=null", "--set", "model.hidden=[5000]",
                   "--set", "stop.max_epochs=4", "--set", "checkpoint.keep_last=3", check=1)

        written = job.events(run, "checkpoint")
        failed = job.events(run, "checkpoint_failed")
        self.assertEqual(job.report(run)["totals"]["epochs"], 4)
        self.assertEqual(job.report(run)["status"], "failed")  # the weights of its end are nowhere
        self.assertGreater(len(written), 0)
        self.assertGreater(len(failed), 0)
        self.assertIn("space", failed[0]["reason"].lower())
        subprocess.run(["mount", "-o", "remount,size=16m", mount], check=True)
        self.train("--resume", run, "--quiet", "--set", "stop.max_epochs=4")


if __name__ == "__main__":
    job.main()
