"""flaky_tests.py FLAKY_FILE JUNIT_FILE: prints the failed tests that may be run once more, in one line.

A line of FLAKY_FILE is "NAME | LAST_DAY | REASON": until that day (YYYY-MM-DD) the test may pass in the second run. An
entry past its day, or that is written otherwise, is an error: the test is to be mended, or the day to be argued for.
"""

import dataclasses
import datetime
import pathlib
import sys

import summarize_tests


@dataclasses.dataclass(frozen=True)
class FlakyTest:
    name: str
    last_day: datetime.date
    reason: str


def read_flaky_tests(path, today):
    """The entries of the file; ValueError with place and remedy for one that is wrong or has ended."""
    entries = []
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 3 or not all(fields):
            raise ValueError(f"{path}:{number}: an entry is NAME | LAST_DAY | REASON")
        entry = FlakyTest(fields[0], datetime.date.fromisoformat(fields[1]), fields[2])
        if entry.last_day < today:
            raise ValueError(f"{path}:{number}: {entry.name} was to be mended by {entry.last_day}: mend it now")
        entries.append(entry)
    return entries


def main(arguments):
    try:
        flaky = {entry.name for entry in read_flaky_tests(arguments[0], datetime.date.today())}
    except ValueError as error:
        print(f"flaky_tests: {error}", file=sys.stderr)
        return 1
    failed = (case.get("name") for case in summarize_tests.cases_in(arguments[1]) if summarize_tests.failed(case))
    print(*(name for name in failed if name in flaky))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
