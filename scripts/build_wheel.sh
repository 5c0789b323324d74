#!/usr/bin/env bash
# build_wheel.sh [FOLDER]: writes a wheel for `pip install` to FOLDER (build/wheels): the programs that
# need no LibTorch, libscavenger_worker.so and the Python package. It serves any Python from 3.9 and
# any PyTorch from 2.1. Builds in build/wheel.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-build/wheels}
python=python3
if [[ -x .venv/bin/python ]]; then python=.venv/bin/python; fi

cmake --preset release -B build/wheel -DSCAVENGER_WITH_TORCH=OFF -DBUILD_TESTING=OFF > /dev/null
cmake --build build/wheel --parallel "$(scripts/build_jobs.sh)" --target programs
rm -rf build/wheel/stage
cmake --install build/wheel --prefix build/wheel/stage --strip > /dev/null
"$python" scripts/pack_wheel.py build/wheel/stage "$folder"
