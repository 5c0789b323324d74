#!/usr/bin/env bash
# run_tests.sh BUILD_FOLDER: runs the tests of a build, names those that failed or were skipped, and ends with the line
# "N passed, N failed". Exit code 1 if one failed or none ran. How many run at once: CTEST_PARALLEL_LEVEL (default 2 if
# there are two processors). Those in which times decide count as two of them.
#
# A test that fails has failed. Only those that test/flaky.txt names are run once more, alone, and are named if they
# passed only then. SCAVENGER_FLAKY_TESTS names another such file.
set -euo pipefail
build=$1
export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(($(nproc) < 2 ? 1 : 2))}
# What Python compiles is kept, also where the environment forbids it: each process of a job that imports PyTorch would
# compile it anew, which takes some four seconds of a processor.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX
PYTHONPYCACHEPREFIX=$(realpath "$build")/pycache
scripts=$(dirname "$0")
report=$(realpath "$build")/test-results.xml
second_report=$(realpath "$build")/test-results-second.xml
rm -f "$report" "$second_report"
ctest --test-dir "$build" --output-on-failure --no-tests=error --output-junit "$report" || true
[ -s "$report" ] || { echo "run_tests: ctest wrote no results: see above" >&2; echo "0 passed, 1 failed"; exit 1; }
again=$(python3 "$scripts/flaky_tests.py" "${SCAVENGER_FLAKY_TESTS:-$scripts/../test/flaky.txt}" "$report")
if [ -n "$again" ]; then
  echo "run_tests: flaky, and run once more, alone: $again"
  ctest --test-dir "$build" -R "^(${again// /|})\$" --parallel 1 --output-on-failure --output-junit "$second_report" || true
fi
exec python3 "$scripts/summarize_tests.py" "$report" "$second_report"
