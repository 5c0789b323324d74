#!/usr/bin/env bash
# run_tests.sh BUILD_FOLDER: runs the tests of a build, names those that failed or were skipped, and ends with the line
# "N passed, N failed". Exit code 1 if one failed or none ran. How many run at once: CTEST_PARALLEL_LEVEL (default 1;
# the tests of timing and of processes are steadier alone).
#
# Tests that failed are run once more, one at a time: a busy machine may be late once, a fault fails twice. What passed
# only then is named. Where more than SCAVENGER_RETRY_LIMIT (default 5) failed, it was not the machine.
set -euo pipefail
build=$1
report=$(realpath "$build")/test-results.xml
second_report=$(realpath "$build")/test-results-second.xml
rm -f "$report" "$second_report"
ctest --test-dir "$build" --output-on-failure --no-tests=error --output-junit "$report" || true
[ -s "$report" ] || { echo "run_tests: ctest wrote no results: see above" >&2; echo "0 passed, 1 failed"; exit 1; }
summary=$(dirname "$0")/summarize_tests.py
failed=$(python3 "$summary" --count-failed "$report")
if [ "$failed" -gt 0 ] && [ "$failed" -le "${SCAVENGER_RETRY_LIMIT:-5}" ]; then
  echo "run_tests: $failed failed, and are run once more, alone"
  ctest --test-dir "$build" --rerun-failed --parallel 1 --output-on-failure --output-junit "$second_report" || true
fi
exec python3 "$summary" "$report" "$second_report"
