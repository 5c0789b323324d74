"""scavenger-md: killed at random instants, stopped by file and by signal, it ends with the bits of one undisturbed run."""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

KILLS = int(os.environ.get("SCAVENGER_MD_KILLS", "12"))
SMALL = ("electrolyte", "--side", 5, "--slit", 2, "--concentration", 0.5, "--equilibration-steps", 200, "--samples-per-block", 10)
RESULTS = ("state.bin", "profile.csv", "result.json")


class SimulationTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_md_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self, name, *arguments):
        words = [job.programs / "scavenger-md", *SMALL, "--folder", self.folder / name, *arguments]
        return subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run_to_end(self, name, *arguments):
        process = self.start(name, *arguments)
        text = process.communicate(timeout=240)[0]
        return process.returncode, text

    def content(self, name):
        return {file: (self.folder / name / file).read_bytes() for file in RESULTS}

    def test_kills_at_random_instants_change_no_bit(self):
        steps = ("--until", 20000)
        began = time.monotonic()
        self.assertEqual(self.run_to_end("whole", *steps)[0], 0)
        undisturbed = time.monotonic() - began
        stream = random.Random(4)
        kills = 0
        trial = 0
        while kills < KILLS:
            name = f"killed-{trial}"
            trial += 1
            for _ in range(4):
                process = self.start(name, *steps, "--checkpoint-every", 200)
                try:
                    process.communicate(timeout=stream.random() * undisturbed)
                except subprocess.TimeoutExpired:
                    process.kill()
                    kills += 1
                process.communicate(timeout=180)
            code, text = self.run_to_end(name, *steps, "--checkpoint-every", 200)
            self.assertEqual(code, 0, text)
            self.assertEqual(self.content(name), self.content("whole"))
            shutil.rmtree(self.folder / name)

    def test_a_stop_file_and_a_signal_cost_no_step(self):
        self.assertEqual(self.run_to_end("whole", "--until", 4000)[0], 0)
        stop = self.folder / "stopped" / "stop"
        stop.parent.mkdir()
        stop.touch()
        code, text = self.run_to_end("stopped", "--until", 4000)
        self.assertEqual(code, 0)
        self.assertIn("stopped early", text)
        stop.unlink()
        process = self.start("stopped", "--until", 10**9)
        deadline = time.monotonic() + 180
        while not (self.folder / "stopped" / "state.bin").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=180)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        reached = job.json.loads((self.folder / "stopped" / "result.json").read_text())["steps"]
        self.assertGreater(reached, 0)
        self.assertEqual(self.run_to_end("stopped", "--until", reached + 4000)[0], 0)
        self.assertEqual(self.run_to_end("whole", "--until", reached + 4000)[0], 0)
        self.assertEqual(self.content("stopped"), self.content("whole"))

    def wait_for_file(self, name, file):
        deadline = time.monotonic() + 180
        while not (self.folder / name / file).exists() and time.monotonic() < deadline:
            time.sleep(0.02)

    def test_a_closed_terminal_loses_no_step(self):
        process = self.start("left", "--until", 10**9)
        self.wait_for_file("left", "lock")
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=180)
        self.assertEqual(process.returncode, 128 + signal.SIGHUP)
        self.assertTrue((self.folder / "left" / "state.bin").exists())

    def test_two_simulations_do_not_share_a_folder(self):
        first = self.start("shared", "--until", 10**9)
        self.wait_for_file("shared", "lock")
        code, text = self.run_to_end("shared", "--until", 10)
        self.assertEqual(code, 2, text)
        self.assertIn("another process is working in this folder", text)
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=180)

    def test_a_simulation_that_diverges_says_so(self):
        code, text = self.run_to_end("diverged", "--until", 5000, "--time-step", 0.05, "--friction", 0)
        self.assertEqual(code, 3, text)
        self.assertIn("diverged: step", text)
        self.assertFalse((self.folder / "diverged" / "result.json").exists())

    def refused(self, *arguments):
        """What a simulation with these settings alone is told, in one line."""
        words = [job.programs / "scavenger-md", "electrolyte", "--folder", self.folder / "wrong", *arguments]
        done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertEqual(done.stdout.count("\n"), 1, done.stdout)
        return done.stdout

    def test_wrong_settings_are_refused_in_the_words_of_the_command_line(self):
        self.assertIn("--until", self.refused("--until", 0))
        for option, value in (("--concentration", 99), ("--time-step", 1), ("--slit", 0.1), ("--side", -1), ("--positive-diameter", 9),
                              ("--sample-every", 0)):
            self.assertIn(f"{option} is {value}", self.refused("--until", 10, option, value))

    def test_the_state_of_another_simulation_is_refused_with_what_differs(self):
        small = ("--side", 5, "--concentration", 0.5, "--folder", self.folder / "taken", "--until", 10)
        words = [job.programs / "scavenger-md", "electrolyte", "--slit", 2, *small]
        subprocess.run(list(map(str, words)), check=True, stdout=subprocess.DEVNULL, timeout=180)
        done = subprocess.run([*map(str, words), "--seed", "7"], stderr=subprocess.PIPE, text=True, timeout=180)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("another simulation: --seed 1, not 7; use another folder", done.stderr)
        words[3] = 3
        done = subprocess.run(list(map(str, words)), stderr=subprocess.PIPE, text=True, timeout=180)
        self.assertIn("another simulation: --slit 2, not 3; use another folder", done.stderr)


if __name__ == "__main__":
    job.main()
