"""The real programs, as a user runs them: what every integration test here starts from.

A test script calls main(): its first argument is the folder of the programs. Exit code 77: skipped.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from job_log import events  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = SOURCE / "configs"
SHARED_DATA = pathlib.Path(os.environ.get("SCAVENGER_SHARED_DATA", SOURCE.parent / "shared" / "data"))
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
programs = pathlib.Path(".")


class JobTest(unittest.TestCase):
    """A test with a folder of its own, in which nothing may be left running."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_job_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(self.assert_no_orphans)
        self.addCleanup(self.assert_decisions_replay)

    orphans_seconds = 5  # that processes of a killed job may take to end

    def assert_no_orphans(self):
        deadline = time.monotonic() + self.orphans_seconds
        while time.monotonic() < deadline and processes_of(self.folder):
            time.sleep(0.05)
        self.assertEqual([words_of(pid) for pid in processes_of(self.folder)], [], "processes of the job are left")

    def assert_decisions_replay(self):
        """What the controller and the search of any run here have decided is decided again from their logs alone."""
        for path in self.folder.rglob("decisions.jsonl"):
            if "changed" in path.parent.name:
                continue
            done = subprocess.run([str(programs / "scavenger-plan"), "replay", str(path.parent)], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180)
            self.assertEqual(done.returncode, 0, done.stdout)

    def command(self, *arguments):
        return [str(programs / "scavenger-train"), *map(str, arguments)]

    def environment(self):
        # The tests of one machine share prepared data, and mark their processes by their folder.
        return {**os.environ, "SCAVENGER_TEST_FOLDER": str(self.folder)}

    def train(self, *arguments, check=0, timeout=240):
        """Runs scavenger-train to its end; returns what it printed, both streams."""
        done = subprocess.run(self.command(*arguments), env=self.environment(), cwd=self.folder, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=timeout)
        if check is not None:
            self.assertEqual(done.returncode, check, done.stdout)
        return done.stdout

    def start(self, *arguments, output=subprocess.PIPE):
        """A pipe that nobody reads stops the job after 64 KiB: one that says much needs a file as `output`."""
        process = subprocess.Popen(self.command(*arguments), env=self.environment(), cwd=self.folder, text=True,
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        return process

    def run_folder(self, name="run"):
        return self.folder / name

    def wait_for_event(self, run, name, count=1, timeout=180):
        """For "iterations", blocks of them count, too."""
        logged = (lambda: trained(run)) if name == "iterations" else (lambda: events(run, name))
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            found = logged()
            if len(found) >= count:
                return found
            time.sleep(0.01)
        self.fail(f"no {count} events {name} in {run} within {timeout} s\n{story(run)}")


def ready_config(name, data):
    """A ready configuration whose data a clone does not have, with these as scripts/fetch_data.sh puts them, from the
    developers' shared folder. In the build folder, so that all tests share what is prepared of them."""
    place = programs.resolve().parent / "ready"
    shutil.copytree(CONFIGS, place / "configs", dirs_exist_ok=True)
    subprocess.run([SOURCE / "scripts" / "fetch_data.sh", "--trust", "--from", SHARED_DATA, "--to", place / "data", data],
                   check=True, stdout=subprocess.DEVNULL)
    return place / "configs" / name


def processes_of(folder):
    """Pids of the live processes that carry a test's folder in their environment."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if f"SCAVENGER_TEST_FOLDER={folder}".encode() in environment.split(b"\0") and state != "Z":
            found.append(int(entry.name))
    return found


def words_of(pid):
    """Its number, its parent's and its command line: what a failure has to say of it."""
    try:
        entry = pathlib.Path("/proc") / str(pid)
        parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
        return f"{pid} (of {parent}): " + (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return f"{pid}: it has just ended"


def story(run, lines=20):
    """What a run that did not do what it should tells of itself: the ends of its logs, which are gone with its folder."""
    paths = [pathlib.Path(run) / "events.jsonl", pathlib.Path(run) / "decisions.jsonl", *sorted((pathlib.Path(run) / "logs").glob("*"))]
    ends = []
    for path in filter(pathlib.Path.is_file, paths):
        end = path.read_text(errors="replace").splitlines()[-lines:]
        ends += [f"--- {path.name}, the last {len(end)} lines", *(line[:400] for line in end)]
    return "\n".join(ends)


def run_program(name, *arguments):
    subprocess.run([programs / name, *arguments], check=True, stdout=subprocess.DEVNULL)


def trained(run):
    """The events with iterations, one by one or in blocks; each has `first` and `count`."""
    return [event for event in events(run) if event["event"] in ("iterations", "iteration_block")]


def report(run):
    return json.loads((pathlib.Path(run) / "report.json").read_text())


def checkpoints(run):
    return sorted((pathlib.Path(run) / "checkpoints").glob("iteration_*"))


def read_safetensors(path):
    """Name -> raw bytes; the format is read here by hand, so that this needs no package."""
    content = pathlib.Path(path).read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + length])
    data = content[8 + length:]
    return {name: data[slice(*tensor["data_offsets"])] for name, tensor in header.items() if name != "__metadata__"}


def last_weights(run):
    return read_safetensors(checkpoints(run)[-1] / "weights.safetensors")


def floats(raw):
    import array
    values = array.array("f")
    values.frombytes(raw)
    return values


def largest_difference(a, b):
    assert a.keys() == b.keys()
    return max(abs(x - y) for name in a for x, y in zip(floats(a[name]), floats(b[name])))


def count_option(default):
    """Takes `--count N` from the command line: how many random runs a test makes. `default` if it is not there."""
    if "--count" not in sys.argv:
        return default
    place = sys.argv.index("--count")
    words = sys.argv[place:place + 2]
    del sys.argv[place:place + 2]
    return int(words[1])


def main():
    global programs
    programs = pathlib.Path(sys.argv.pop(1)).resolve()
    # Test modules import this file as "job"; run as a script they have their own copy of nothing.
    sys.modules["job"].programs = programs
    if not (programs / "scavenger-worker").exists():
        print(f"skipped: {programs} has no scavenger-worker (built without LibTorch)")
        sys.exit(77)
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    if result.testsRun == len(result.skipped) and result.wasSuccessful():
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)
