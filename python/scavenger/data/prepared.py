"""Data that were read and checked once: arrays in files that all processes of a host map."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import tempfile
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

import numpy

VERSION = 1
META = "meta.json"


class Prepared:
    """Named arrays and what else is known of them."""

    def __init__(self, folder: pathlib.Path, meta: Mapping[str, Any]) -> None:
        self._folder = folder
        self.meta = meta

    def array(self, name: str) -> numpy.ndarray:
        """Map an array. Only its owner may change the file, so it is read."""
        return numpy.load(self._folder / f"{name}.npy", mmap_mode="r")


def cache_folder() -> pathlib.Path:
    """Return the folder that the programs keep prepared data in."""
    own = os.environ.get("SCAVENGER_CACHE_DIR")
    if own:
        return pathlib.Path(own)
    caches = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(caches) if caches else pathlib.Path.home() / ".cache") / "scavenger"


def _state(path: pathlib.Path) -> str:
    status = path.stat()
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _open(folder: pathlib.Path, key: str) -> Optional[Prepared]:
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return Prepared(folder, meta["meta"]) if meta.get("key") == key else None


def _write(folder: pathlib.Path, key: str, arrays: Mapping[str, numpy.ndarray],
           meta: Mapping[str, Any]) -> None:
    """Put a folder in its place in one step; what was there is replaced."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = pathlib.Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
    try:
        for name, array in arrays.items():
            numpy.save(made / f"{name}.npy", array)
        (made / META).write_text(json.dumps({"key": key, "meta": meta}), encoding="utf-8")
        if folder.exists():
            old = pathlib.Path(tempfile.mkdtemp(prefix=".removing-", dir=folder.parent))
            os.replace(folder, old / "data")  # processes that have mapped it keep it
            shutil.rmtree(old, ignore_errors=True)
        os.rename(made, folder)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if _open(folder, key) is None:  # else another process was quicker
            raise


def prepared(settings: Mapping[str, Any], files: Sequence[pathlib.Path],
             read: Callable[[], "tuple[Dict[str, numpy.ndarray], Dict[str, Any]]"]) -> Prepared:
    """Return what read() has made of these files with these settings, now or before.

    `read` returns arrays and what else is to be kept, which JSON must be able to say.
    """
    text = json.dumps({"version": VERSION, "settings": settings,
                       "files": [str(path) for path in files]}, sort_keys=True)
    states = "\n".join(_state(path) for path in files)
    key = hashlib.sha256(f"{text}\n{states}".encode()).hexdigest()
    name = f"python-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    folder = cache_folder() / name
    found = _open(folder, key)
    if found is None:
        arrays, meta = read()
        _write(folder, key, arrays, meta)
        found = _open(folder, key)
        assert found is not None
    return found
