"""install_test.py BUILD_FOLDER: an installed folder still works after it was moved, without anything of this checkout."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1))


def run(*command):
    return subprocess.run(list(map(str, command)), env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}, capture_output=True,
                          text=True, check=False)


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_install_"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        installation = run(shutil.which("cmake"), "--install", BUILD, "--prefix", cls.scratch / "first")
        assert installation.returncode == 0, installation.stderr
        cls.moved = (cls.scratch / "first").rename(cls.scratch / "moved")
        cls.programs = sorted((cls.moved / "bin").iterdir())

    def test_every_program_that_was_built_is_installed(self):
        built = sorted(path.name for path in (BUILD / "bin").glob("scavenger-*"))

        self.assertEqual([program.name for program in self.programs], built)
        self.assertIn("scavenger-ps", built)

    def test_every_program_names_its_version_after_the_move(self):
        for program in self.programs:
            with self.subTest(program.name):
                answer = run(program, "--version")

                self.assertEqual(answer.returncode, 0, answer.stderr)
                self.assertRegex(answer.stdout, rf"\A{program.name} \d+\.\d+\.\d+ \(([0-9a-f]{{12}}\+?|unknown)\)\n\Z")

    def test_libraries_come_from_the_folder_or_from_the_system(self):
        for program in self.programs:
            libraries = run("ldd", program).stdout
            for line in libraries.splitlines():
                with self.subTest(program.name, library=line.split()[0]):
                    self.assertNotIn("not found", line)
                    self.assertNotIn(str(PROJECT), line)
                    if line.split()[0].startswith(("libtorch", "libc10", "libfmt", "libspdlog")):
                        self.assertIn(str(self.moved), str(pathlib.Path(line.split()[2]).resolve()))

    def test_the_ready_configurations_are_installed(self):
        installed = sorted(path.name for path in (self.moved / "share/scavenger/configs").iterdir())

        self.assertEqual(installed, sorted(path.name for path in (PROJECT / "configs").iterdir()))
        self.assertIn("fashion_mlp.json", installed)

    def test_completion_and_man_pages_are_installed(self):
        page = (self.moved / "share/man/man1/scavenger-ctl.1").read_text()
        self.assertIn(".SS gcp list\n", page)
        for path, part in {"bash-completion/completions/scavenger-train": "complete -o", "zsh/site-functions/_scavenger-train": "#compdef",
                           "fish/vendor_completions.d/scavenger-train.fish": "complete -c"}.items():
            self.assertIn(part, (self.moved / "share" / path).read_text())

    def test_what_users_call_beside_the_programs_is_installed(self):
        place = self.moved / "share/scavenger"
        listed = run(place / "scripts/fetch_data.sh", "--list")
        self.assertIn("mnist_cnn", listed.stdout)
        for script in ("mlflow_sync.py", "wandb_sync.py"):
            self.assertEqual(run(place / "loggers" / script, "--help").returncode, 0)


if __name__ == "__main__":
    unittest.main()
