"""scripts/run_tests.sh on a project of three tests: one good, one that fails once, one that always fails."""

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


class RunTestsTest(unittest.TestCase):
    def run_tests(self, more="", **environment):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        pathlib.Path(folder, "CTestTestfile.cmake").write_text(TESTS.format(more=more))
        run = subprocess.run([PROJECT / "scripts/run_tests.sh", folder], env={**os.environ, **environment},
                             capture_output=True, text=True, check=False)
        return run.returncode, run.stdout.splitlines()

    def test_what_fails_once_has_passed_and_is_named(self):
        code, lines = self.run_tests()

        self.assertEqual(code, 0, lines)
        self.assertEqual(lines[-2:], ["PASSED ONLY WHEN RUN AGAIN: late", "2 passed, 0 failed"])

    def test_what_fails_twice_has_failed(self):
        code, lines = self.run_tests('add_test(bad "false")')

        self.assertEqual(code, 1)
        self.assertEqual(lines[-3:], ["PASSED ONLY WHEN RUN AGAIN: late", "FAILED: bad", "2 passed, 1 failed"])

    def test_where_many_fail_none_is_run_again(self):
        code, lines = self.run_tests('add_test(bad "false")', SCAVENGER_RETRY_LIMIT="1")

        self.assertEqual(code, 1)
        self.assertEqual(lines[-3:], ["FAILED: late", "FAILED: bad", "1 passed, 2 failed"])


if __name__ == "__main__":
    unittest.main()
