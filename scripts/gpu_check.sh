#!/usr/bin/env bash
# gpu_check.sh [--out FOLDER] [--device cuda|cpu] [--stages NAME...] [--seconds N]: checks and measures a bundle of
# scripts/gpu_bundle.sh, from inside of it, on a machine that has a GPU and PyTorch. No network, no root, no packages.
#
#   tar xf gpu_bundle.tar.xz && gpu_bundle/scripts/gpu_check.sh --out results --stages tests equality
#
# The Python with torch: $SCAVENGER_PYTHON, or /opt/torch/.venv/bin/python, or python3. Each stage takes at most eight
# minutes, and writes results/STAGE.json and results/STAGE.md after each of its cases. Call it again to go on after a cut.
# Exit codes: 0 all done; 1 something that must hold does not; 2 this machine cannot run it; 3 cases are left.
set -euo pipefail
bundle=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
fail() { echo "gpu_check: $*" >&2; exit 2; }

python=${SCAVENGER_PYTHON:-}
for candidate in /opt/torch/.venv/bin/python python3; do
  [ -n "$python" ] || ! "$candidate" -c 'import torch' 2>/dev/null || python=$candidate
done
[ -n "$python" ] || fail "there is no Python with torch: name one in SCAVENGER_PYTHON"

# The programs look for LibTorch and NVIDIA's libraries here (their run path).
packages=$("$python" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).resolve().parents[1])')
found=$("$python" -c 'import torch; print(torch.__version__)')
wanted=$(cat "$bundle/torch_version")
[ "$found" = "$wanted" ] || echo "gpu_check: the bundle was built against torch $wanted, and here is $found: it may not run" >&2
ln -sfn "$packages" "$bundle/site-packages"

# A system older than ours lacks our C++ library: it is in the bundle.
problem=$("$bundle/bin/scavenger-worker" --version 2>&1) || {
  case $problem in
    *GLIBCXX_* | *CXXABI_*) export LD_LIBRARY_PATH="$bundle/lib/cxx${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;;
    *) fail "the programs do not start here: $problem" ;;
  esac
  "$bundle/bin/scavenger-worker" --version >/dev/null || fail "the programs do not start here"
}
out=$PWD/gpu_results
arguments=()
while [ $# -gt 0 ]; do
  case $1 in
    --out) [ $# -gt 1 ] || fail "--out needs a folder"; out=$2; shift 2 ;;
    *) arguments+=("$1"); shift ;;
  esac
done
exec "$python" "$bundle/test/gpu/gpu_check.py" --build "$bundle" --out "$out" "${arguments[@]}"
