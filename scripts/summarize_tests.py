"""summarize_tests.py JUNIT_FILE: names failed and skipped tests; the last line is "N passed, N failed".

A test that skipped itself is counted in neither number, and is named with the reason that it printed. One that could
not be run (its executable is missing: CTest calls that skipped too) or is disabled has failed.
"""

import sys
import xml.etree.ElementTree as ElementTree


def last_line(case):
    lines = [line for line in (case.findtext("system-out") or "").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it printed no reason"


def summarize(cases):
    """(lines to print, number passed, number failed) of a list of <testcase> elements."""
    lines, passed, failed = [], 0, 0
    for case in cases:
        skipped = case.find("skipped")
        if case.get("status") == "run":
            passed += 1
        elif skipped is not None and skipped.get("message", "").startswith("SKIP_"):  # SKIP_RETURN_CODE=77
            lines.append(f"skipped: {case.get('name')}: {last_line(case)}")
        else:
            failed += 1
            lines.append(f"FAILED: {case.get('name')}")
    return lines, passed, failed


def main():
    lines, passed, failed = summarize(ElementTree.parse(sys.argv[1]).getroot().iter("testcase"))
    if passed + failed == 0:
        lines.append("FAILED: no test ran")
        failed = 1
    print("\n".join([*lines, f"{passed} passed, {failed} failed"]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
