"""Completion and man pages: each option that --help tells of is in them, and bash completes by them.

command_text_test.py FOLDER: the folder of the programs. Those that are not built are left out.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
NAMES = [name for name in ("scavenger-train", "scavenger-ctl", "scavenger-plan", "scavenger-report", "scavenger-export", "scavenger-predict", "scavenger-md",
                          "scavenger-campaign")
         if (PROGRAMS / name).exists()]


def said_by(program, *arguments):
    return subprocess.run([PROGRAMS / program, *arguments], capture_output=True, text=True, check=True).stdout


def commands_of(program, path=()):
    """(path, options, subcommands) of the program and all below, as --help has them."""
    text = said_by(program, *path, "--help")
    options = re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.MULTILINE)
    section = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.MULTILINE)
    subcommands = re.findall(r"^  ([a-z][\w-]*)", section.group(1), re.MULTILINE) if section else []
    yield path, options, subcommands
    for name in subcommands:
        yield from commands_of(program, (*path, name))


class CommandTextTest(unittest.TestCase):
    def test_help_is_read_rightly(self):
        self.assertIn("scavenger-ctl", NAMES)
        found = {path: (options, subcommands) for path, options, subcommands in commands_of("scavenger-ctl")}
        self.assertIn("--workers", found[("resize",)][0])
        self.assertIn("list", found[()][1])
        self.assertIn(("gcp", "list"), found)

    def test_each_option_and_command_is_in_all_texts(self):
        for program in NAMES:
            texts = {shell: said_by(program, "--generate-completion", shell) for shell in ("bash", "zsh", "fish")}
            page = said_by(program, "--generate-man").replace("\\-", "-")
            for path, options, subcommands in commands_of(program):
                at = " ".join(path)
                (offer,) = re.findall(rf"^    '{at}'\) options='(.*)'; commands='(.*)' ;;$", texts["bash"], re.MULTILINE)
                for option in options:
                    with self.subTest(program, command=at, option=option):
                        self.assertIn(option, offer[0].split())
                        self.assertRegex(texts["zsh"], rf"(?m)^    '{at}'\) options=\(.*'{option}:")
                        self.assertIn(f" -l {option[2:]} ", texts["fish"])
                        self.assertIn(f"\\fB{option}\\fR", page)
                self.assertEqual(sorted(offer[1].split()), sorted(subcommands))
                for name in subcommands:
                    with self.subTest(program, command=at, subcommand=name):
                        self.assertIn(f" -a {name} -d ", texts["fish"])
                        self.assertIn(f".SS {' '.join([*path, name])}\n", page)

    def complete(self, program, *words):
        """What bash offers for the last of these words, with the real script."""
        script = said_by(program, "--generate-completion", "bash")
        function = "_" + program.replace("-", "_")
        lines = f'{script}\nCOMP_WORDS=("$@")\nCOMP_CWORD=$(($# - 1))\ncomplete -p {program} > /dev/null && {function}\nprintf "%s\\n" "${{COMPREPLY[@]}}"\n'
        done = subprocess.run(["bash", "--norc", "-c", lines, "bash", program, *words], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_completes_options_commands_and_choices(self):
        self.assertEqual(self.complete("scavenger-train", "--work"), ["--workers"])
        self.assertEqual(self.complete("scavenger-train", "--evaluate", "runs/a", "--split", "t"), ["test", "train"])
        self.assertEqual(self.complete("scavenger-train", "--run", ""), [])  # files, by the shell's own
        self.assertEqual(self.complete("scavenger-ctl", "runs/a", "re"), ["resize"])
        self.assertEqual(self.complete("scavenger-ctl", "runs/a", "resize", "--w"), ["--workers", "--wait"])
        self.assertEqual(self.complete("scavenger-ctl", "runs/a", "status", "--w"), [])
        self.assertEqual(self.complete("scavenger-ctl", "gcp", "sw"), ["sweep"])
        self.assertEqual(self.complete("scavenger-ctl", "gcp", "sweep", "--y"), ["--yes"])

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_man_pages_are_right_for_groff(self):
        for program in NAMES:
            done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=said_by(program, "--generate-man"), capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "", program)
            text = re.sub(".\x08", "", done.stdout)
            for heading in ("NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS", "SEE ALSO"):
                self.assertIn(f"\n{heading}\n", text)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_takes_the_scripts(self):
        for program in NAMES:
            subprocess.run(["zsh", "-n"], input=said_by(program, "--generate-completion", "zsh"), text=True, check=True)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_takes_the_scripts(self):
        for program in NAMES:
            with tempfile.NamedTemporaryFile("w", suffix=".fish") as script:
                script.write(said_by(program, "--generate-completion", "fish"))
                script.flush()
                subprocess.run(["fish", "--no-execute", script.name], check=True)

    def test_another_shell_is_refused(self):
        done = subprocess.run([PROGRAMS / "scavenger-ctl", "--generate-completion", "tcsh"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("bash, zsh and fish", done.stderr)


if __name__ == "__main__":
    unittest.main()
