"""No job stands still: whatever fails or is asked for while it starts, it trains or ends with an error."""

import pathlib
import resource
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

CONFIG = [job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "stop.target=null", "--set", "evaluation.every_epochs=100000"]
ENDLESS = [*CONFIG, "--set", "stop.max_epochs=100000"]
SHORT = [*CONFIG, "--set", "stop.max_iterations=5", "--set", "checkpoint.every_iterations=5"]


class ResizeAtStartTest(job.JobTest):
    def fewer_while_the_last_start(self, *settings):
        """The first worker has joined, and five others start: one is enough now."""
        run = self.run_folder()
        process = self.start(*ENDLESS, "--workers", 6, "--batch-size", 96, "--run", run, *settings)
        self.wait_for_worker(run)
        subprocess.run([str(job.programs / "scavenger-ctl"), str(run), "resize", "--workers", "1"], check=True,
                       stdout=subprocess.DEVNULL, timeout=180, env=self.environment())
        self.wait_for_event(run, "iterations", timeout=120)
        subprocess.run([str(job.programs / "scavenger-ctl"), str(run), "stop"], check=True, stdout=subprocess.DEVNULL,
                       timeout=180, env=self.environment())
        output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, output)

    def wait_for_worker(self, run):
        for count in range(1, 10):
            if any(event["role"] == "worker" for event in self.wait_for_event(run, "process_joined", count)):
                return
        self.fail("no worker has joined")

    def test_in_shared_memory(self):
        self.fewer_while_the_last_start()

    def test_over_tcp(self):
        self.fewer_while_the_last_start("--set", "sync.transport=tcp")

    def test_all_reduce(self):
        self.fewer_while_the_last_start("--set", "sync.strategy=gloo")


class FailingStartTest(job.JobTest):
    def finished_run(self):
        run = self.run_folder()
        self.train(*SHORT, "--run", run)
        return run

    def resume(self, run, **options):
        """Goes on for ten iterations more, or fails; never longer than the limit."""
        return subprocess.run(self.command("--resume", run, "--quiet", "--set", "stop.max_iterations=15"),
                              env=self.environment(), cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, **options)

    def assert_fails(self, run, problem):
        done = self.resume(run)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(problem, done.stdout)
        self.assertEqual(job.events(run, "end")[-1]["status"], "failed")

    def test_a_log_file_that_cannot_be_opened(self):
        run = self.finished_run()
        (run / "logs" / "shard_0.log").unlink()
        (run / "logs" / "shard_0.log").mkdir()
        self.assert_fails(run, "Is a directory")

    def test_a_folder_in_place_of_the_control_socket(self):
        run = self.finished_run()
        (run / "control.sock" / "folder").mkdir(parents=True)
        self.assert_fails(run, "control.sock")

    def test_no_folder_for_logs(self):
        run = self.finished_run()
        shutil.rmtree(run / "logs")
        (run / "logs").write_text("")
        done = self.resume(run)
        self.assertIn(done.returncode, (1, 2), done.stdout)

    def test_few_open_files(self):
        """At each number of files that may be open it starts, or says that it cannot."""
        run = self.finished_run()
        for files in range(8, 32, 2):
            with self.subTest(files=files):
                limits = (files, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
                done = self.resume(run, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits))
                self.assertIn(done.returncode, (0, 1, 2), done.stdout)
                if done.returncode == 0:
                    return
                self.assertTrue(done.stdout.strip(), "it ended without a word")


if __name__ == "__main__":
    job.main()
