#!/usr/bin/env bash
# run_tests.sh BUILD_FOLDER: runs the tests of a build, names those that failed or were skipped, and ends with the line
# "N passed, N failed". Exit code 1 if one failed or none ran. How many run at once: CTEST_PARALLEL_LEVEL (default 1;
# the tests of timing and of processes are steadier alone).
set -euo pipefail
build=$1
report=$build/test-results.xml
rm -f "$report"
ctest --test-dir "$build" --output-on-failure --no-tests=error --output-junit "$(realpath "$build")/test-results.xml" || true
[ -s "$report" ] || { echo "run_tests: ctest wrote no results: see above" >&2; echo "0 passed, 1 failed"; exit 1; }
exec python3 "$(dirname "$0")/summarize_tests.py" "$report"
