#!/usr/bin/env bash
# Runs what needs no LibTorch under sanitizers: scripts/run_sanitisers.sh [fuzz] [threads] [unit], or all three; or small.
#   fuzz     every decoder under AddressSanitizer and UBSan, SCAVENGER_FUZZ_INPUTS inputs each (1000000)
#   threads  unit tests of what shares memory or sockets between threads, under ThreadSanitizer
#   unit     all unit tests under AddressSanitizer and UBSan
#   small    of these what CI runs for each change, in a few minutes: who reads foreign bytes, who shares memory
# A clean clone needs scripts/setup.sh --test before. LibTorch is left out because its wheels are not instrumented.
# All findings are shown; any makes the exit code 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly kThreaded='invariants|live_page|net|page|process|ps_collective|ps_core|ps_host|ps_shm|ps_tcp|worker'
readonly kSmallUnit='base|net|protocol|ps_shm'
readonly kSmallThreads='ps_shm'
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_init_order=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
export SCAVENGER_FUZZ_INPUTS=${SCAVENGER_FUZZ_INPUTS:-1000000}

say() { echo "sanitisers: $*"; }

build() {  # PRESET TARGET...
  say "building $1: ${*:2}"
  cmake --preset "$1" -DSCAVENGER_WITH_TORCH=OFF >/dev/null &&
    cmake --build "build/$1" --parallel "$(scripts/build_jobs.sh)" --target "${@:2}"
}

# One decoder after the other on each core, each with its line in the end. Their files need not last.
run_fuzz() {
  build asan fuzz_test fuzz_services_test || return
  [ ! -w /dev/shm ] || export TMPDIR=/dev/shm
  # Up to four times as fast. A use of the stack after return depends on the path through the code, and
  # not on a million inputs: run_unit looks for it with fewer.
  local -x ASAN_OPTIONS=$ASAN_OPTIONS:detect_stack_use_after_return=0:malloc_context_size=5:quarantine_size_mb=16
  local program
  for program in build/asan/test/fuzz_test build/asan/test/fuzz_services_test; do
    test_names "$program" | while read -r name; do printf '%s\0%s\0' "$program" "$name"; done
  done | xargs -0 -n 2 -P "$(nproc)" bash -c 'run_case "$@"' run_case
}
test_names() {  # PROGRAM: Catch2 2 (whose exit code is their number), or 3
  local names
  names=$("$1" --list-test-names-only 2>/dev/null) || true
  [ -n "$names" ] || names=$("$1" --list-tests --verbosity quiet)
  echo "$names"
}
run_case() {  # PROGRAM NAME
  local begin=$SECONDS escaped output
  escaped=$(sed 's/[][\\,"*~]/\\&/g' <<<"$2")
  if output=$("$1" "$escaped" 2>&1); then
    echo "ok     $((SECONDS - begin)) s  $2$(sed -n 's/^ *\(accepted .*\)/  (\1)/p' <<<"$output" | tr -d '\n')"
  else
    printf 'FAILED %s s  %s\n%s\n' "$((SECONDS - begin))" "$2" "$output"
    return 1
  fi
}
export -f run_case

test_programs() {  # PATTERN: the targets of these names
  find test -name CMakeLists.txt -exec sed -n 's/^scavenger_test(\([a-z_]*\).*/\1/p' {} + | grep -xE "($1)_test"
}
run_threads() { build_and_run tsan "$kThreaded" 1; }
build_and_run() {  # PRESET PATTERN HOW_MANY_AT_ONCE
  build "$1" $(test_programs "$2") || return
  ctest --test-dir "build/$1" -R "^($2)_test$" -L unit --parallel "$3" --output-on-failure
}
run_unit() {
  build asan unit_tests || return
  SCAVENGER_FUZZ_INPUTS=2000 ctest --test-dir build/asan -L unit --parallel "$(nproc)" --output-on-failure
}

run_small() {
  local status=0
  build_and_run asan "$kSmallUnit" "$(nproc)" || status=1
  build_and_run tsan "$kSmallThreads" 1 || status=1
  return $status
}

[ $# -gt 0 ] || set -- fuzz threads unit
for what in "$@"; do
  case $what in
    fuzz | threads | unit | small) ;;
    *) echo "sanitisers: error: there is no \"$what\"; remedy: name fuzz, threads, unit or small" >&2; exit 2 ;;
  esac
done
failed=()
for what in "$@"; do "run_$what" || failed+=("$what"); done
[ ${#failed[@]} -eq 0 ] || { say "findings in: ${failed[*]}"; exit 1; }
say "clean: $*"
