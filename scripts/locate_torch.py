"""Prints the folder that holds TorchConfig.cmake, if the Python that runs this has a LibTorch we can build against.

Used by scripts/setup.sh and scripts/cmake/FindLibTorch.cmake. It looks, and does not `import torch`: that takes
seconds. Exit code 1 and nothing printed: there is none.
"""

import importlib.util
import pathlib
import re
import sys

# Wheels before 2.6 use the C++ ABI of 2014, which does not link with the distribution's fmt and spdlog.
MINIMUM = (2, 6)


def main():
    specification = importlib.util.find_spec("torch")
    if specification is None or not specification.submodule_search_locations:
        return 1
    package = pathlib.Path(list(specification.submodule_search_locations)[0])
    config = package / "share" / "cmake" / "Torch"
    version_file = package / "version.py"
    if not (config / "TorchConfig.cmake").is_file() or not version_file.is_file():
        return 1
    version = re.search(r"__version__ = '(\d+)\.(\d+)", version_file.read_text())
    if version is None or tuple(map(int, version.groups())) < MINIMUM:
        return 1
    print(config)
    return 0


if __name__ == "__main__":
    sys.exit(main())
