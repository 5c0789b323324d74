"""tidy.py RULE [ROOT]: checks one rule on the source tree; prints each finding with its place and the remedy.

Exit codes: 0 nothing found, 1 findings, 77 the rule cannot be checked here (CTest: skipped).
"""

import importlib
import pathlib
import sys

from formatting import NoFormatter
from source_tree import SourceTree

RULES = ("banned", "built_files", "coroutines", "documents", "file_length", "formatting", "includes", "layering",
         "sizes")


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in RULES:
        print(f"usage: tidy.py {'|'.join(RULES)} [ROOT]", file=sys.stderr)
        return 2
    rule = importlib.import_module(sys.argv[1])
    root = sys.argv[2] if len(sys.argv) == 3 else pathlib.Path(__file__).resolve().parents[2]
    try:
        findings = rule.findings(SourceTree(root))
    except NoFormatter as reason:
        print(f"skipped: {reason}")
        return 77
    for finding in findings:
        print(finding)
    print(f"{sys.argv[1]}: {len(findings)} findings. {' '.join(rule.__doc__.split())}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
