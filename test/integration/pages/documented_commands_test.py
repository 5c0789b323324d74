"""Every command line in the documents is one that the programs accept, with a configuration that they accept.

Nothing is started. To a command line the test adds one option that no program has: a program that complains of that
option, and of nothing else, has accepted the rest. Jobs are resolved by --print-config. Prose may name a part of a
command line, which the test completes.
"""

import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

UNKNOWN = "--not-an-option-of-any-program"
ACCEPTED = f"The following argument was not expected: {UNKNOWN};"
DOCUMENTS = [*sorted(job.SOURCE.glob("*.md")), *sorted((job.SOURCE / "docs").rglob("*.md"))]
ANSWERED_AT_ONCE = re.compile(r"--(?:help|version|generate-\w+)")  # by the program itself, whatever follows
PROGRAM = r"scavenger-(?:campaign|ctl|export|md|plan|predict|report|train)"
BLOCK = re.compile(r"^ *```(?!json)\w*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
LINE = re.compile(rf"^ *({PROGRAM} +[^\n]*)", re.MULTILINE)
SPAN = re.compile(rf"`({PROGRAM} [^`\n]+)`")


@dataclasses.dataclass(frozen=True)
class Command:
    """One command line, and where it is written."""

    place: str
    words: tuple
    in_prose: bool = False


def words_of(line):
    """Without the explanation, which begins after two spaces."""
    return tuple(shlex.split(re.split(r" {2,}", line.strip())[0]))


def commands_in(name, text):
    joined = re.sub(r"\\\n *", "", text)
    lines = [line for block in BLOCK.findall(joined) for line in LINE.findall(block)]
    found = [Command(name, words_of(line)) for line in lines if "..." not in line]
    found += [Command(name, words_of(span), in_prose=True) for span in SPAN.findall(joined) if "..." not in span]
    return [command for command in found if len(command.words) > 1]


def documented_commands():
    return [command for path in DOCUMENTS for command in commands_in(path.name, path.read_text(encoding="utf-8"))]


class DocumentedCommandsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_documents_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.symlink(job.CONFIGS, self.folder / "configs")

    def run_program(self, program, *words):
        return subprocess.run([str(job.programs / program), *words], cwd=self.folder, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=120)

    def complaint(self, words):
        """What the program has against this command line; empty where it accepts it."""
        for word in words[1:]:  # some options look whether a file is there
            path = self.folder / word.split(":")[0]
            if not word.startswith(("-", "/")) and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        if ANSWERED_AT_ONCE.fullmatch(words[1]):
            done = self.run_program(*words)
            return "" if done.returncode == 0 else done.stderr
        own = words.index("--") if "--" in words else len(words)  # what follows is a script's
        done = self.run_program(*words[:own], UNKNOWN)
        return "" if done.returncode == 2 and ACCEPTED in done.stderr else done.stderr or f"exit code {done.returncode}"

    def complaint_of_part(self, words):
        """The same for a part of a command line: what is missing is put in first."""
        if words[-1].startswith("--"):
            words = (*words, "VALUE")
        complaint = self.complaint(words)
        for _ in range(5):
            if "subcommand is required" in complaint:
                words = (*words, "list" if words[-1] in ("gcp", "k8s") else "status")
            elif "is required;" in complaint:
                option = re.search(r": (--[a-z-]+) is required;", complaint)
                words = (*words, option[1], "VALUE") if option else (*words, "VALUE")
            else:
                break
            complaint = self.complaint(words)
        return complaint

    def test_programs_accept_the_command_lines_of_the_documents(self):
        commands = documented_commands()
        self.assertGreater(len(commands), 40)
        for command in commands:
            with self.subTest(place=command.place, line=shlex.join(command.words)):
                complaint = self.complaint_of_part if command.in_prose else self.complaint
                self.assertEqual(complaint(command.words), "")

    def test_jobs_of_the_documents_have_keys_that_exist(self):
        jobs = [command for command in documented_commands()
                if command.words[0] == "scavenger-train" and command.words[1].startswith("configs/")]
        self.assertGreater(len(jobs), 8)
        for command in jobs:
            with self.subTest(place=command.place, line=shlex.join(command.words)):
                done = self.run_program(*command.words, "--print-config")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("batch_size", json.loads(done.stdout))

    def test_the_configuration_of_the_readme_is_one(self):
        text = (job.SOURCE / "README.md").read_text()
        block = re.search(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL).group(1)
        (self.folder / "job.json").write_text(block)
        done = self.run_program("scavenger-train", "job.json", "--print-config")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_wrong_command_line_is_found(self):
        for line in ("scavenger-train configs/fashion_mlp.json --serves", "scavenger-plan runs/job --price -1",
                     "scavenger-ctl runs/job resize --worker 4", "scavenger-export --checkpoint last",
                     "scavenger-plan show --store models.sqlite", "scavenger-train configs/fashion_mlp.json --workers",
                     "scavenger-train configs/fashion_mlp.json --resume runs/job", "scavenger-plan --generate-plan x"):
            with self.subTest(line):
                self.assertNotEqual(self.complaint(words_of(line)), "")

    def test_a_wrong_part_of_a_command_line_is_found(self):
        for part in ("scavenger-plan replay", "scavenger-plan --machines", "scavenger-export --checkpoint",
                     "scavenger-ctl --version"):
            with self.subTest(part):
                self.assertEqual(self.complaint_of_part(words_of(part)), "")
        for part in ("scavenger-plan replay --machines", "scavenger-plan --machine-types", "scavenger-export --check",
                     "scavenger-ctl runs/job --wait"):
            with self.subTest(part):
                self.assertNotEqual(self.complaint_of_part(words_of(part)), "")

    def test_commands_are_found_in_blocks_and_in_prose(self):
        text = ("1. So:\n\n   ```sh\n   scavenger-plan a \\\n     --json   the plan\n   scavenger-train  trains\n"
                "   ```\nthen `scavenger-ctl runs/a stop`, or `scavenger-ctl ... stop`.\n\nscavenger-ctl x\n")
        self.assertEqual([command.words for command in commands_in("x", text)],
                         [("scavenger-plan", "a", "--json"), ("scavenger-ctl", "runs/a", "stop")])


if __name__ == "__main__":
    job.main()
