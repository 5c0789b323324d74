"""summarize_tests.py JUNIT_FILE [SECOND]: names failed and skipped tests; the last line is "N passed,
N failed". SECOND, where there is such a file, has the results of the tests that failed and were run again.

A test that skipped itself is counted in neither number, and is named with the reason that it printed. One that could
not be run (its executable is missing: CTest calls that skipped too) or is disabled has failed. One that passed only when
it was run again has passed, and is named.
"""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def last_line(case):
    lines = [line for line in (case.findtext("system-out") or "").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it printed no reason"


def passed(case):
    return case.get("status") == "run"


def skipped_itself(case):
    skipped = case.find("skipped")
    return skipped is not None and skipped.get("message", "").startswith("SKIP_")  # SKIP_RETURN_CODE=77


def failed(case):
    return not passed(case) and not skipped_itself(case)


def summarize(cases, second_cases=()):
    """(lines to print, number passed, number failed) of lists of <testcase> elements."""
    passed_again = {case.get("name") for case in second_cases if passed(case)}
    lines, passes, failures = [], 0, 0
    for case in cases:
        name = case.get("name")
        if passed(case):
            passes += 1
        elif skipped_itself(case):
            lines.append(f"skipped: {name}: {last_line(case)}")
        elif name in passed_again:
            passes += 1
            lines.append(f"PASSED ONLY WHEN RUN AGAIN: {name}")
        else:
            failures += 1
            lines.append(f"FAILED: {name}")
    return lines, passes, failures


def cases_in(path):
    return list(ElementTree.parse(path).getroot().iter("testcase")) if pathlib.Path(path).is_file() else []


def main(arguments):
    lines, passes, failures = summarize(*map(cases_in, arguments))
    if passes + failures == 0:
        lines.append("FAILED: no test ran")
        failures = 1
    print("\n".join([*lines, f"{passes} passed, {failures} failed"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
