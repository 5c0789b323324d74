#!/usr/bin/env bash
# fetch_cuda_wheels.sh TORCH_VERSION: gets LibTorch for CUDA and NVIDIA's compiler as wheels from PyPI (3 GB to fetch,
# 5 GB in build/cuda-wheels/TORCH_VERSION), and prints two lines: the folder of the Python packages, and that of the
# toolkit. A second call finds all there. On PyPI the wheel for x86-64 is the CUDA build (2.11.0 is 2.11.0+cu130).
# Exit code 77: the wheels cannot be had; the last line of the errors says why.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly kTorch=$1
readonly kVenv=$PWD/build/cuda-wheels/$kTorch
pip=("$kVenv/bin/python" -m pip install --quiet --no-input --no-compile)

skip() { echo "skipped: $*" >&2; exit 77; }
version_of() { "$kVenv/bin/python" -c "import importlib.metadata as m; print(m.version('$1'))"; }

[ "$(uname -m)" = x86_64 ] || skip "the wheels are for x86-64"
[ -x "$kVenv/bin/python" ] || python3 -m venv "$kVenv" || skip "this Python has no venv"
"${pip[@]}" "torch===$kTorch" >&2 || skip "pip cannot get torch $kTorch for CUDA"  # ===: not the wheel "+cpu"
toolkit=$(version_of cuda-toolkit) || skip "this torch $kTorch brings no cuda-toolkit: it is a CPU build"
"${pip[@]}" "cuda-toolkit[nvcc,cccl]==$toolkit" >&2 || skip "pip cannot get nvcc"
# pip takes the newest nvvm and crt, whose code an older nvcc cannot read ("Unsupported .version").
nvcc=$(version_of nvidia-cuda-nvcc)
"${pip[@]}" --no-deps "nvidia-nvvm==$nvcc" "nvidia-cuda-crt==$nvcc" >&2 || skip "pip cannot get nvvm and crt $nvcc"

packages=$("$kVenv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
home=$packages/nvidia/cu${toolkit%%.*}  # beside cudnn and cusparselt
[ -x "$home/bin/nvcc" ] || skip "there is no nvcc in $home"
# As an installed toolkit has it: lib64/, and names of libraries without versions.
ln -sfn lib "$home/lib64"
for library in "$home"/lib/lib*.so.*; do
  [ -e "${library%%.so.*}.so" ] || ln -s "${library##*/}" "${library%%.so.*}.so"
done
echo "$packages"
echo "$home"
