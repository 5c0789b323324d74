#!/usr/bin/env bash
# Compiles and links what is for GPUs, on a machine that has neither a GPU nor NVIDIA's toolkit: scripts/check_cuda_build.sh
# LibTorch for CUDA and the toolkit come as wheels from PyPI (3 GB to fetch, 5 GB in build/cuda). The programs made are run
# as far as they go without a GPU: `auto` takes the CPU, `cuda` is refused. Nothing shows what a GPU would compute.
# Exit code 77: the wheels cannot be had; the last line says why.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly kFolder=$PWD/build/cuda
readonly kTorch=$(sed -n 's/^readonly kTorchVersion=//p' scripts/setup.sh)

skip() { echo "skipped: $*"; exit 77; }
python_prints() { "$kFolder/venv/bin/python" -c "$1"; }

fetch_wheels() {
  [ "$(uname -m)" = x86_64 ] || skip "the wheels are for x86-64"
  [ -x "$kFolder/venv/bin/python" ] || python3 -m venv "$kFolder/venv" || skip "this Python has no venv"
  local pip=("$kFolder/venv/bin/python" -m pip install --quiet --no-input --no-compile)
  "${pip[@]}" "torch===$kTorch" || skip "pip cannot get torch $kTorch for CUDA"  # ===: not the wheel "+cpu"
  local toolkit
  toolkit=$(python_prints 'import importlib.metadata as m; print(m.version("cuda-toolkit"))') ||
    skip "this torch $kTorch brings no cuda-toolkit: it is a CPU build"
  "${pip[@]}" "cuda-toolkit[nvcc,cccl]==$toolkit" || skip "pip cannot get nvcc"
}
# As an installed toolkit has it: lib64/, and names of libraries without versions.
complete_toolkit() {
  ln -sfn lib "$1/lib64"
  local library
  for library in "$1"/lib/lib*.so.*; do
    [ -e "${library%%.so.*}.so" ] || ln -s "${library##*/}" "${library%%.so.*}.so"
  done
}

fetch_wheels
packages=$(python_prints 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
export CUDA_HOME=$(echo "$packages"/nvidia/cu*)
export CUDACXX=$CUDA_HOME/bin/nvcc
complete_toolkit "$CUDA_HOME"
cmake -G Ninja -S . -B "$kFolder/build" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG" \
  "-DCUDA_TOOLKIT_ROOT_DIR=$CUDA_HOME" "-DTorch_DIR=$packages/torch/share/cmake/Torch" >"$kFolder/cmake.log" || {
  cat "$kFolder/cmake.log"
  exit 1
}
grep -q 'SCAVENGER_HAS_CUDA=1' "$kFolder/build/build.ninja" || { echo "CUDA was not found in this LibTorch"; exit 1; }
grep -q 'SCAVENGER_HAS_NCCL=1' "$kFolder/build/build.ninja" || { echo "NCCL was not found beside this LibTorch"; exit 1; }
cmake --build "$kFolder/build" --parallel "$(scripts/build_jobs.sh)" --target scavenger-worker device_test c10d_member
"$kFolder/build/test/device_test"
echo "compiled and linked against LibTorch $kTorch for CUDA, with NCCL"
