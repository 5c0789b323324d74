#!/usr/bin/env bash
# gpu_bundle.sh [--torch VERSION] [--build FOLDER] [OUT.tar.xz]: packs what scripts/gpu_check.sh runs on a machine with a
# GPU: programs, tests and benchmarks, stripped, with the libraries that such a machine may lack. The default is
# build/gpu_bundle.tar.xz, built in build/cuda-VERSION against torch 2.11.0 for CUDA as pip brings it (fetched by
# scripts/fetch_cuda_wheels.sh; needs no GPU). --build packs what is built already, whatever LibTorch it has.
# Exit code 77: the wheels cannot be had; the last line says why.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly kMostMiB=16
torch=2.11.0
build=
out=build/gpu_bundle.tar.xz
fail() { echo "gpu_bundle: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
  case $1 in
    --torch | --build) [ $# -gt 1 ] || fail "$1 needs a value" ;;&
    --torch) torch=$2; shift 2 ;;
    --build) build=$2; shift 2 ;;
    -*) fail "unknown option $1: see the head of this file" ;;
    *) out=$1; shift ;;
  esac
done
readonly kPrograms="scavenger-train scavenger-ps scavenger-worker scavenger-ctl"
readonly kTests="device_test model_trainer_test torch_trainer_test transformer_test objective_test fine_tuning_test"
readonly kBenches="device_trainer nccl_check"

if [ -z "$build" ]; then
  build=build/cuda-$torch
  wheels=$(scripts/fetch_cuda_wheels.sh "$torch")
  { read -r packages; read -r CUDA_HOME; } <<<"$wheels"
  export CUDA_HOME CUDACXX=$CUDA_HOME/bin/nvcc CCACHE_BASEDIR=$PWD
  # site-packages is a link that gpu_check.sh makes to the packages of the machine's Python.
  folders='$ORIGIN/../lib;$ORIGIN/../site-packages/torch/lib'
  for folder in "$packages"/nvidia/*/lib; do folders+=";\$ORIGIN/../site-packages/${folder#"$packages"/}"; done
  log=$(mktemp)
  cmake --preset release -B "$build" "-DCUDA_TOOLKIT_ROOT_DIR=$CUDA_HOME" "-DTorch_DIR=$packages/torch/share/cmake/Torch" \
    -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON "-DCMAKE_INSTALL_RPATH=$folders" -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags \
    >"$log" 2>&1 || { cat "$log"; fail "cmake could not configure $build"; }
  rm -f "$log"
  grep -q 'SCAVENGER_HAS_CUDA=1' "$build/build.ninja" || fail "this LibTorch $torch has no CUDA"
  cmake --build "$build" --parallel "$(scripts/build_jobs.sh)" --target $kPrograms worker_library $kTests $kBenches
  version=$(sed -n "s/^__version__ = '\(.*\)'/\1/p" "$packages/torch/version.py")
else
  version=$(sed -n 's/^Torch_DIR:PATH=//p' "$build/CMakeCache.txt")
  version=$(sed -n "s/^__version__ = '\(.*\)'/\1/p" "$version/../../../version.py")
fi

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
bundle=$stage/gpu_bundle
mkdir -p "$bundle"/{bin,lib/cxx,bench,scripts} "$bundle"/test/{gpu,bench,integration,support,unit/runtime/torch/models}
for program in $kPrograms; do strip -o "$bundle/bin/$program" "$build/bin/$program"; done
for program in $kTests; do strip -o "$bundle/test/$program" "$build/test/$program"; done
for program in $kBenches; do strip -o "$bundle/bench/$program" "$build/bench/$program"; done
# What models in Python need: the worker's library, its launcher and the package.
strip -o "$bundle/lib/libscavenger_worker.so" "$build/lib/libscavenger_worker.so"
cp "$build/bin/scavenger-python-worker" "$bundle/bin/"
mkdir -p "$bundle/share/scavenger/python"
cp -r python/scavenger "$bundle/share/scavenger/python/"
find "$bundle/share" -name __pycache__ -prune -exec rm -r {} +
# Of what the programs are linked to, all but the C library's own, the C++ library, and what comes with PyTorch.
ldd "$build"/bin/scavenger-{train,ps,ctl} | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u |
  grep -vE '/(ld-linux|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)[.]' | while read -r library; do
    strip -o "$bundle/lib/${library##*/}" "$library"
  done
for library in libstdc++.so.6 libgcc_s.so.1; do
  cp -L "$(ldd "$build/bin/scavenger-train" | sed -n "s/.*$library => \(\/[^ ]*\) .*/\1/p")" "$bundle/lib/cxx/"
done
cp scripts/gpu_check.sh "$bundle/scripts/"
cp test/gpu/*.py "$bundle/test/gpu/"
cp test/bench/{training_job,trainer_bench}.py "$bundle/test/bench/"
cp test/integration/job.py "$bundle/test/integration/"
cp test/support/job_log.py "$bundle/test/support/"
cp test/unit/runtime/torch/models/reference_models.py "$bundle/test/unit/runtime/torch/models/"
echo "$version" >"$bundle/torch_version"
git describe --always --dirty=+ --abbrev=12 --exclude='*' >"$bundle/commit" 2>/dev/null || echo unknown >"$bundle/commit"

mkdir -p "$(dirname "$out")"
tar -C "$stage" --owner=0 --group=0 --sort=name -c gpu_bundle | xz -T2 >"$out.new"
mv "$out.new" "$out"
size=$(stat -c %s "$out")
echo "$out: $((size / 1024)) KiB, for torch $version"
[ "$size" -le $((kMostMiB << 20)) ] || fail "it is larger than $kMostMiB MiB"
