"""Files and libraries that a data set is read with."""

from __future__ import annotations

import importlib
import pathlib
from types import ModuleType
from typing import List, Sequence

from scavenger.problems import UserError

PACKAGES = {"PIL": "pillow"}  # where pip's name is another


def require(module: str, what: str) -> ModuleType:
    """Import a library. Raises UserError, which says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = PACKAGES.get(module.split(".")[0], module.split(".")[0])
        raise UserError(f"{what} needs the library {package}: {error}", "",
                        f"install it: python3 -m pip install {package}") from error


def files_in(places: Sequence[str], endings: Sequence[str], what: str) -> List[pathlib.Path]:
    """Return the files, and of folders those with one of the endings, sorted. Raises UserError."""
    found: List[pathlib.Path] = []
    for place in map(pathlib.Path, places):
        if place.is_dir():
            inside = sorted(path for path in place.iterdir()
                            if path.is_file() and path.name.lower().endswith(tuple(endings)))
            if not inside:
                raise UserError(f"the folder has no {what}", str(place),
                                f"name one whose files end in {', '.join(endings)}")
            found += inside
        elif place.is_file():
            if not place.name.lower().endswith(tuple(endings)):
                raise UserError(f"this is no {what}", str(place),
                                f"name a file that ends in {', '.join(endings)}")
            found.append(place)
        else:
            raise UserError("there is no such file or folder", str(place), "correct the path")
    return found
