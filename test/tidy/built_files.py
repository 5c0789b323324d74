"""Every .cpp belongs to a CMake target: a test that is not built proves nothing."""

import pathlib
import re

from source_tree import CODE_FOLDERS, Finding


def listed_files(tree):
    """Paths of all .cpp that a CMakeLists.txt names, from the folder that it is in."""
    listed = set()
    for path in tree.files(".txt", folders=CODE_FOLDERS):
        if path.endswith("CMakeLists.txt"):
            code = re.sub(r"#[^\n]*", "", tree.text(path))
            listed |= {str(pathlib.PurePosixPath(path).parent / name) for name in re.findall(r"[\w./-]+\.cpp\b", code)}
    return listed


def findings(tree):
    listed = listed_files(tree)
    return [Finding(path, 1, "belongs to no CMake target, so nothing compiles or runs it",
                    "name it in SOURCES of its folder's CMakeLists.txt")
            for path in tree.files(".cpp") if path not in listed]
