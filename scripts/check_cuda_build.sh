#!/usr/bin/env bash
# check_cuda_build.sh [TORCH_VERSION]: compiles and links what is for GPUs, on a machine that has neither a GPU nor
# NVIDIA's toolkit (scripts/fetch_cuda_wheels.sh gets what is needed). Without a version: that of scripts/setup.sh.
# The programs made are run as far as they go without a GPU: `auto` takes the CPU, `cuda` is refused. Nothing shows what
# a GPU would compute.
# Exit code 77: the wheels cannot be had; the last line says why.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly kTorch=${1:-$(sed -n 's/^readonly kTorchVersion=//p' scripts/setup.sh)}
readonly kBuild=build/cuda-$kTorch

wheels=$(scripts/fetch_cuda_wheels.sh "$kTorch")
{ read -r packages; read -r CUDA_HOME; } <<<"$wheels"
export CUDA_HOME CUDACXX=$CUDA_HOME/bin/nvcc
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset release -B "$kBuild" "-DCUDA_TOOLKIT_ROOT_DIR=$CUDA_HOME" "-DTorch_DIR=$packages/torch/share/cmake/Torch" \
  >"$log" || { cat "$log"; exit 1; }
grep -q 'SCAVENGER_HAS_CUDA=1' "$kBuild/build.ninja" || { echo "CUDA was not found in this LibTorch"; exit 1; }
grep -q 'SCAVENGER_HAS_NCCL=1' "$kBuild/build.ninja" || { echo "NCCL was not found beside this LibTorch"; exit 1; }
cmake --build "$kBuild" --parallel "$(scripts/build_jobs.sh)" --target scavenger-worker device_test c10d_member
"$kBuild/test/device_test"
echo "compiled and linked against LibTorch $kTorch for CUDA, with NCCL"
