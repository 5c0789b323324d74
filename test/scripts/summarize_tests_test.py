"""The last line of the test run: what is counted as passed, failed, and neither."""

import pathlib
import sys
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import summarize_tests  # noqa: E402


def summary_of(*cases):
    """Summarizes test cases as CTest 3.25 writes them."""
    return summarize_tests.summarize(parsed(*cases))


def parsed(*cases):
    return list(ElementTree.fromstring(f"<testsuite>{''.join(cases)}</testsuite>").iter("testcase"))


PASSED = '<testcase name="good" status="run"><system-out/></testcase>'
FAILED = '<testcase name="bad" status="fail"><failure message=""/><system-out>boom</system-out></testcase>'
SKIPPED = (
    '<testcase name="other" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
    "<system-out>why\nno data set here\n</system-out></testcase>"
)
NOT_BUILT = '<testcase name="lost" status="notrun"><skipped message="Unable to find executable"/></testcase>'
DISABLED = '<testcase name="off" status="disabled"><skipped message="Disabled"/></testcase>'


class SummarizeTestsTest(unittest.TestCase):
    def test_passed_and_failed_tests_are_counted_and_failed_ones_named(self):
        self.assertEqual(summary_of(PASSED, FAILED, PASSED), (["FAILED: bad"], 2, 1))

    def test_a_test_that_skipped_itself_is_named_with_its_reason_and_not_counted(self):
        self.assertEqual(summary_of(PASSED, SKIPPED), (["skipped: other: no data set here"], 1, 0))

    def test_a_test_without_its_executable_has_failed(self):
        self.assertEqual(summary_of(NOT_BUILT), (["FAILED: lost"], 0, 1))

    def test_a_disabled_test_has_failed(self):
        self.assertEqual(summary_of(DISABLED), (["FAILED: off"], 0, 1))

    def test_a_test_that_passed_only_when_run_again_is_named_and_has_passed(self):
        again = PASSED.replace("good", "bad")

        self.assertEqual(summarize_tests.summarize(parsed(PASSED, FAILED), parsed(again)),
                         (["PASSED ONLY WHEN RUN AGAIN: bad"], 2, 0))
        self.assertEqual(summarize_tests.summarize(parsed(FAILED), parsed(FAILED)), (["FAILED: bad"], 0, 1))


if __name__ == "__main__":
    unittest.main()
