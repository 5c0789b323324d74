"""Other users of the machine, who may read a run folder, cannot keep its job from going on."""

import fcntl
import os
import pathlib
import signal
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

SYNTHETIC = job.CONFIGS / "synthetic_mlp.json"
STRANGER = 65534  # nobody


def lock_all_below(folder):
    """All that can be opened; they stay locked as long as this process lives."""
    held = []
    for path in sorted(folder.rglob("*")):
        try:
            held.append(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass
    return len(held)


def as_stranger(what):
    """Calls what() as another user, in a process that lives on; returns that and what came of it."""
    answer, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(STRANGER, STRANGER, STRANGER)
            os.setresuid(STRANGER, STRANGER, STRANGER)
            os.environ.pop("SCAVENGER_TEST_FOLDER", None)
            result = what()
        except BaseException as error:
            result = type(error).__name__
        os.write(told, str(result).encode())
        os.close(told)
        while True:
            signal.pause()
    os.close(told)
    with os.fdopen(answer) as pipe:
        return pid, pipe.read()


def end_stranger(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


class OtherUserTest(job.JobTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can be another user")
        os.chmod(self.folder, 0o755)

    def test_who_may_only_read_the_run_folder_cannot_block_its_resume(self):
        run = self.run_folder()
        process = self.start(SYNTHETIC, "--run", run, "--set", "stop.target=null", "--set", "stop.max_epochs=1000000")
        self.wait_for_event(run, "checkpoint")
        process.send_signal(signal.SIGKILL)
        process.wait()
        locker, locked = as_stranger(lambda: lock_all_below(run))
        self.addCleanup(end_stranger, locker)
        self.assertGreater(int(locked), 5, "the stranger could open nothing")

        done = max(event["iteration"] for event in job.events(run, "checkpoint"))
        self.train("--resume", run, "--quiet", "--set", f"stop.max_iterations={done + 2000}")

    def test_a_stranger_can_neither_ask_nor_stop_a_job(self):
        run = self.run_folder()
        process = self.start(SYNTHETIC, "--run", run, "--set", "stop.target=null", "--set", "stop.max_epochs=1000000")
        self.wait_for_event(run, "iterations")
        attempts = [lambda: socket.socket(socket.AF_UNIX).connect(str(run / "control.sock"))]
        attempts += [lambda pid=pid: os.kill(pid, signal.SIGTERM) for pid in job.processes_of(self.folder)]
        self.assertGreater(len(attempts), 2)
        for attempt in attempts:
            stranger, outcome = as_stranger(attempt)
            end_stranger(stranger)
            self.assertEqual(outcome, "PermissionError")
        self.wait_for_event(run, "iterations", count=len(job.trained(run)) + 2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=180), 130)


if __name__ == "__main__":
    job.main()
