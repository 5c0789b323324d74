"""What the tests of scavenger-campaign have in common: an engine of the shell, and a campaign of it."""

import json
import pathlib
import random
import subprocess
import time

import job

STEPS = 40

# Counts steps in a file, each in the time of a process of its own, as a shell script with children does.
ENGINE = """#!/bin/sh
c=$1; until=$2; record=$3
step=0; if [ -e state ]; then step=$(cat state) || exit 9; fi
echo "begin $c $step $until" >> "$record"
if [ -e diverge-$c ]; then echo "energy is not a number"; exit 3; fi
if [ -e fail-$c ]; then echo "no licence"; exit 7; fi
while [ $step -lt $until ] && [ ! -e stop ]; do sleep 0.02; step=$((step + 1)); done
echo $step > state.new; mv state.new state || exit 9
value=$((c * 1000 + step))
[ -e nan-$c ] && value=NaN
[ -e hot-$c ] && value=77777
printf '{"steps": %s, "value": %s}\\n' $step $value > result.json
echo "end $c $step" >> "$record"
"""


class CampaignJob(job.JobTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(7)
        self.record = self.folder / "record.txt"
        self.engine = self.folder / "engine.sh"
        self.write_engine(ENGINE)

    def environment(self):
        return {**super().environment(), **getattr(self, "more_environment", {})}

    def write_engine(self, text):
        self.engine.write_text(text)
        self.engine.chmod(0o755)

    def write_config(self, points=6, files=(), **changes):
        """`changes` replace whole sections; those of simulation are merged into it."""
        for name in files:
            (self.folder / name).write_text("")
        simulation = {
            "command": ["./engine.sh", "{c}", "{until}", str(self.record)],
            "files": ["engine.sh", *files], "steps": STEPS,
            "checkpoint": {"files": ["state"], "interval_seconds": 0.3},
            "stop": {"file": "stop", "grace_seconds": 5, "reached": {"file": "result.json", "key": "steps"}},
            "result": {"files": ["result.json"]}, "tries": 50, **changes.pop("simulation", {})}
        config = {"name": "shell", "space": {"c": {"range": [1, points], "step": 1}}, "simulation": simulation,
                  "machines": {"count": 2, "price_per_hour": 3.6}, **changes}
        path = self.folder / "campaign.json"
        path.write_text(json.dumps(config))
        return path

    def campaign(self, *arguments, check=0, timeout=240):
        done = subprocess.run([str(job.programs / "scavenger-campaign"), *map(str, arguments)], env=self.environment(),
                              cwd=self.folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=timeout)
        if check is not None:
            self.assertEqual(done.returncode, check, done.stdout)
        return done.stdout

    def start_campaign(self, *arguments):
        process = subprocess.Popen([str(job.programs / "scavenger-campaign"), *map(str, arguments)],
                                   env=self.environment(), cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.addCleanup(self.kill, process)
        return process

    def kill(self, process):
        process.kill()
        process.wait()
        process.stdout.close()

    def log(self):
        """The whole lines of the log; the last may be in the middle of being written."""
        path = self.run_folder() / "campaign.jsonl"
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def wait_for(self, name, count=1, timeout=180):
        deadline = time.monotonic() + timeout
        while sum(line["event"] == name for line in self.log()) < count:
            self.assertLess(time.monotonic(), deadline, f"no {count} events {name}")
            time.sleep(0.02)

    def report(self):
        return json.loads((self.run_folder() / "report.json").read_text())

    def result(self, point, run=None):
        return json.loads(((run or self.run_folder()) / "simulations" / f"{point:04}" / "result" / "result.json").read_text())

    def check_books(self):
        """The log leads to the same decisions again, kept segments fit together, and the sums are the bill."""
        self.assertIn("same decisions", self.campaign("--replay", self.run_folder()))
        spent = self.report()["spent"]
        parts = [spent[kind] for kind in ("useful", "redone", "discarded", "checkpoint", "start", "idle")]
        for unit in ("seconds", "dollars"):
            self.assertAlmostEqual(sum(part[unit] for part in parts), spent["all"][unit], places=6)
            self.assertGreaterEqual(min(part[unit] for part in parts), -1e-9)

    def commands(self):
        """(pid, words) of this test's processes."""
        for pid in job.processes_of(self.folder):
            try:
                yield pid, pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue

    def processes(self, name):
        """Pids of this test's processes with this word in their command line."""
        return [pid for pid, words in self.commands() if "--guard" not in words[1:2] and any(name in word for word in words)]

    def guards(self):
        return [pid for pid, words in self.commands() if "--guard" in words[1:2]]
