"""The sources that include CUDA's or NCCL's headers are read by the compiler, with LibTorch for CUDA, if that is here.

scripts/fetch_cuda_wheels.sh brings it (3 GB), so nobody gets it unasked. scripts/check_cuda_build.sh does more: it
links, and runs what can be run without a GPU.
"""

import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
MARK = re.compile(r"^#\s*ifdef (SCAVENGER_HAS_(?:CUDA|NCCL))$", re.MULTILINE)
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-DAT_PER_OPERATOR_HEADERS",
         "-DUSE_DISTRIBUTED", "-DUSE_C10D_NCCL", "-DUSE_C10D_GLOO"]


def sources():
    """(path, the macro that turns its part for CUDA on)"""
    for path in sorted((SOURCE / "runtime" / "torch").rglob("*.cpp")):
        for macro in MARK.findall(path.read_text()):
            yield path, macro


def main():
    folders = sorted((SOURCE / "build" / "cuda-wheels").glob("*/lib/python*/site-packages"))
    if not folders:
        print("skipped: no LibTorch for CUDA is here; scripts/fetch_cuda_wheels.sh 2.11.0 gets one (3 GB)")
        sys.exit(SKIPPED)
    packages = folders[-1]
    homes = sorted(packages.glob("nvidia/cu[0-9]*"))
    if not homes:
        print(f"skipped: {packages} has no toolkit: fetch_cuda_wheels.sh did not come to its end")
        sys.exit(SKIPPED)
    system = [packages / "torch/include", packages / "torch/include/torch/csrc/api/include", packages / "nvidia/nccl/include",
              homes[-1] / "include", homes[-1] / "include/cccl"]
    found = list(sources())
    assert found, "no source has a part for CUDA: is the macro's name another one now?"
    for path, macro in found:
        command = [os.environ.get("CXX", "g++"), *FLAGS, f"-D{macro}", "-I", SOURCE]
        for folder in system:
            command += ["-isystem", folder]
        done = subprocess.run(list(map(str, [*command, path])), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(f"{path.relative_to(SOURCE)}: {'good' if done.returncode == 0 else 'FAILED'}\n{done.stdout[-4000:]}")
        if done.returncode != 0:
            sys.exit(1)
    print(f"{len(found)} sources, with {packages.parts[-4]}")


if __name__ == "__main__":
    main()
