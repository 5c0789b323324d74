"""kill -9 of scavenger-train in each of its states, and in each phase of a search: nothing is orphaned, and --resume reaches the target."""

import os
import pathlib
import signal
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
from running_job import shared_segments, status, wait_for_state  # noqa: E402

# Slow where the states would else be over in a blink: many samples to evaluate, much state to copy. Endless, so that a state that
# passes unseen on a busy machine comes again.
CONFIG = [job.CONFIGS / "synthetic_mlp.json", "--quiet", "--set", "data.test.samples=40000", "--set", "model.hidden=[512,512]",
          "--set", "optimizer.learning_rate=0.02", "--set", 'stop={"max_iterations": 1000000000}', "--set", "evaluation.every_iterations=200",
          "--set", "checkpoint.every_iterations=40", "--set", "limits.heartbeat_seconds=1.5"]
SEARCH = ["--search", "partial", "--set", "search.workers=[1,2]", "--set", "search.batch_sizes=[32,64]", "--workers", 1,
          "--batch-size", 32, "--set", "search.cold_start_iterations=60", "--set", "search.iterations=5", "--set", "model.hidden=[32]",
          "--set", "evaluation.every_iterations=100000", "--set", "checkpoint.every_iterations=400"]


class ControllerKillTest(job.JobTest):
    def begin(self, *arguments):
        self.segments = shared_segments()
        run = self.run_folder()
        return run, self.start(*CONFIG, *arguments, "--run", run)

    def kill_and_resume(self, run, process):
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assert_no_orphans()
        safe = [int(path.name.split("_")[1]) for path in job.checkpoints(run)]
        done = max((event["first"] for event in job.trained(run)), default=0)
        self.train("--resume", run, "--quiet", "--set", f"stop.max_iterations={done + 400}")
        report = job.report(run)
        self.assertEqual(report["status"], "max_iterations")
        resumed = [event["resumed_from_iteration"] for event in job.events(run, "start")][1:]
        self.assertEqual(resumed, [max(safe, default=0)], "nothing that is in a checkpoint is done again")
        self.assertEqual(shared_segments() - self.segments, set())

    def workers(self, run):
        return [event["pid"] for event in job.events(run, "process_joined") if event["role"] == "worker"]

    def test_starting(self):
        run, process = self.begin()
        self.wait_for_event(run, "process_started")
        self.kill_and_resume(run, process)

    def test_training(self):
        run, process = self.begin()
        self.wait_for_event(run, "iterations", 2)
        wait_for_state(run, "training")
        self.kill_and_resume(run, process)

    def test_evaluating(self):
        run, process = self.begin()
        wait_for_state(run, "evaluating")
        self.kill_and_resume(run, process)

    def test_checkpointing(self):
        run, process = self.begin()
        wait_for_state(run, "checkpointing")
        self.kill_and_resume(run, process)

    def test_halting_because_a_worker_hangs(self):
        run, process = self.begin()
        self.wait_for_event(run, "iterations", 1)
        os.kill(self.workers(run)[1], signal.SIGSTOP)
        self.wait_for_event(run, "process_lost", 1)
        self.kill_and_resume(run, process)

    def come_together_again(self, run):
        """That takes a fiftieth of a second, so where it passed unseen another shard is lost."""
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            recoveries = len(job.events(run, "recovery"))
            shard = [event["pid"] for event in job.events(run, "process_joined") if event["role"] == "shard"][-1]
            os.kill(shard, signal.SIGKILL)
            while len(job.events(run, "recovery")) == recoveries and time.monotonic() < deadline:
                if status(run).get("state") in ("halting", "coming together again"):
                    return
        self.fail("it was never seen to come together again")

    def test_coming_together_again(self):
        run, process = self.begin("--set", "sync.transport=tcp")
        self.wait_for_event(run, "checkpoint", 1)
        self.come_together_again(run)
        self.kill_and_resume(run, process)

    def test_paused(self):
        run, process = self.begin()
        self.wait_for_event(run, "iterations", 1)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(run / "control.sock"))
            connection.sendall(b'{"command": "pause"}\n')
            connection.makefile().readline()
        wait_for_state(run, "paused")
        self.wait_for_event(run, "checkpoint", 1)
        self.kill_and_resume(run, process)

    def test_ending(self):
        run, process = self.begin()
        self.wait_for_event(run, "iterations", 1)
        os.kill(self.workers(run)[1], signal.SIGSTOP)  # so that the end takes its time
        process.send_signal(signal.SIGINT)
        wait_for_state(run, "ending", "checkpointing")
        self.kill_and_resume(run, process)

    def test_each_phase_of_a_search(self):
        for phase, name in enumerate(["cold_start", "profiling", "settled"]):
            with self.subTest(phase=name):
                self.segments = shared_segments()
                run = self.run_folder(f"run{phase}")
                process = self.start(*CONFIG, *SEARCH, "--run", run)
                deadline = time.monotonic() + 180
                while not any(step["phase"] == name for step in job.events(run, "search_step")):
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.005)
                self.kill_and_resume(run, process)


if __name__ == "__main__":
    job.main()
