"""scripts/run_tests.sh on a project of three tests: one good, one that fails once, one that always fails."""

import datetime
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
# As CMake writes it into a build folder: the second test passes when it has left its mark before.
TESTS = """
add_test(good "true")
add_test(late "sh" "-c" "test -e mark || {{ touch mark; exit 1; }}")
{more}
"""
TOMORROW = datetime.date.today() + datetime.timedelta(days=1)
YESTERDAY = datetime.date.today() - datetime.timedelta(days=1)


class RunTestsTest(unittest.TestCase):
    def run_tests(self, more="", flaky=""):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / "CTestTestfile.cmake").write_text(TESTS.format(more=more))
        (folder / "flaky.txt").write_text(f"# comment\n{flaky}\n")
        run = subprocess.run([PROJECT / "scripts/run_tests.sh", folder], capture_output=True, text=True, check=False,
                             env={**os.environ, "SCAVENGER_FLAKY_TESTS": str(folder / "flaky.txt")})
        return run.returncode, run.stdout.splitlines(), run.stderr

    def test_what_fails_once_has_failed(self):
        code, lines, _ = self.run_tests()

        self.assertEqual(code, 1)
        self.assertEqual(lines[-2:], ["FAILED: late", "1 passed, 1 failed"])

    def test_a_flaky_one_is_run_once_more_and_named(self):
        code, lines, _ = self.run_tests(flaky=f"late | {TOMORROW} | its clock")

        self.assertEqual(code, 0, lines)
        self.assertEqual(lines[-2:], ["PASSED ONLY WHEN RUN AGAIN: late", "2 passed, 0 failed"])

    def test_a_flaky_one_that_fails_twice_has_failed(self):
        code, lines, _ = self.run_tests('add_test(bad "false")', f"bad | {TOMORROW} | nobody knows")

        self.assertEqual(code, 1)
        self.assertEqual(lines[-3:], ["FAILED: late", "FAILED: bad", "1 passed, 2 failed"])

    def test_an_entry_that_has_ended_is_an_error(self):
        code, _, problem = self.run_tests(flaky=f"late | {YESTERDAY} | its clock")

        self.assertNotEqual(code, 0)
        self.assertIn("mend it now", problem)

    def test_an_entry_without_a_reason_is_an_error(self):
        code, _, problem = self.run_tests(flaky=f"late | {TOMORROW} |")

        self.assertNotEqual(code, 0)
        self.assertIn("NAME | LAST_DAY | REASON", problem)


if __name__ == "__main__":
    unittest.main()
