"""scripts/setup.sh where all is there, where something is missing, and on a system that it does not know."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
# What the script itself needs. Nothing of what it looks for.
SHELL_TOOLS = ("bash", "env", "sed", "basename", "dirname", "cut", "tr", "cat", "rm", "mktemp", "id", "tail")


class SetupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = pathlib.Path(folder.name)

    def setup(self, *arguments, **environment):
        return subprocess.run(["bash", str(PROJECT / "scripts/setup.sh"), *arguments], env={**os.environ, **environment},
                              capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    def setup_on(self, os_release):
        """Runs it on a system of that kind where none of the tools is, and where apt-get cannot install anything."""
        (self.scratch / "os-release").write_text(os_release)
        for tool in SHELL_TOOLS:
            os.symlink(shutil.which(tool), self.scratch / tool)
        for name, script in {"apt-get": "echo no network; exit 100", "apt-cache": "exit 0", "dpkg": "exit 1"}.items():
            (self.scratch / name).write_text(f"#!/usr/bin/env bash\n{script}\n")
            (self.scratch / name).chmod(0o755)
        return self.setup(PATH=str(self.scratch), TMPDIR=str(self.scratch), SCAVENGER_OS_RELEASE=str(self.scratch / "os-release"))

    def test_nothing_is_done_where_all_is_there(self):
        run = self.setup()

        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"\Asetup: ready \(LibTorch: .*\)\n\Z")

    def test_an_unknown_system_gets_the_list_of_what_is_needed(self):
        run = self.setup_on("ID=fedora\nVERSION_ID=40\n")

        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertRegex(run.stdout, r"MISSING +cmake +cmake +describes the build")
        self.assertRegex(run.stdout, r"(here|MISSING) +Boost 1.81 +libboost1.81-dev +network")
        self.assertNotIn("installing", run.stdout)

    def test_a_release_that_is_too_old_is_an_unknown_system(self):
        self.assertEqual(self.setup_on("ID=debian\nVERSION_ID=11\n").returncode, 3)

    def test_ubuntu_20_is_an_unknown_system(self):
        self.assertEqual(self.setup_on("ID=ubuntu\nVERSION_ID=20.04\n").returncode, 3)

    def test_a_failed_installation_is_reported_with_what_apt_said(self):
        run = self.setup_on("ID=debian\nVERSION_ID=12\n")

        self.assertEqual(run.returncode, 1)
        self.assertIn("setup: installing cmake: describes the build", run.stdout)
        self.assertRegex(run.stderr, r"no network|needs root")
        self.assertIn("setup: remedy:", run.stderr)

    def test_an_unknown_option_is_refused(self):
        run = self.setup("--tset")

        self.assertEqual(run.returncode, 2)
        self.assertIn("usage: scripts/setup.sh [--test]", run.stderr)


if __name__ == "__main__":
    unittest.main()
