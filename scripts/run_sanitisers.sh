#!/usr/bin/env bash
# Runs what needs no LibTorch under sanitizers: scripts/run_sanitisers.sh [fuzz] [unit] [threads], or all three.
#   fuzz     every decoder under AddressSanitizer and UBSan, SCAVENGER_FUZZ_INPUTS inputs each (1000000)
#   unit     all unit tests under AddressSanitizer and UBSan
#   threads  those of what shares memory or sockets between threads, under ThreadSanitizer
# LibTorch is left out because its wheels are not instrumented. The first finding ends the run.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly kThreaded='coordinator|invariants|live_page|model_service|net|page|process|ps_collective|ps_core|ps_host|ps_shm|ps_tcp|worker'

build() {  # PRESET TARGET...
  cmake --preset "$1" -DSCAVENGER_WITH_TORCH=OFF >/dev/null
  cmake --build "build/$1" --parallel "$(scripts/build_jobs.sh)" --target "${@:2}"
}
run_fuzz() {
  build asan fuzz_test fuzz_services_test
  export SCAVENGER_FUZZ_INPUTS=${SCAVENGER_FUZZ_INPUTS:-1000000}
  build/asan/test/fuzz_test
  build/asan/test/fuzz_services_test
}
run_unit() {
  build asan unit_tests
  ASAN_OPTIONS=detect_stack_use_after_return=1:strict_init_order=1 UBSAN_OPTIONS=print_stacktrace=1 \
    ctest --test-dir build/asan -L unit --output-on-failure --timeout 1800
}
run_threads() {
  build tsan $(sed -n 's/^scavenger_test(\([a-z_]*\).*/\1/p' test/*/CMakeLists.txt | grep -xE "($kThreaded)_test")
  TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 \
    ctest --test-dir build/tsan -R "^($kThreaded)_test$" -L unit --output-on-failure --timeout 1800
}

[ $# -gt 0 ] || set -- fuzz unit threads
for what in "$@"; do
  case $what in
    fuzz | unit | threads) "run_$what" ;;
    *) echo "scripts/run_sanitisers.sh: there is no \"$what\": fuzz, unit or threads" >&2; exit 2 ;;
  esac
done
