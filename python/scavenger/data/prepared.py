"""Data that were read and checked once: arrays in files that all processes of a host map."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence

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


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    """Be the only process that writes here. The lock ends with its process, however that ends."""
    with open(path, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(folder: pathlib.Path, key: str, arrays: Mapping[str, numpy.ndarray],
           meta: Mapping[str, Any]) -> None:
    """Put a folder in its place when it is complete; what was there is replaced."""
    made, old = (folder.with_name(folder.name + ending) for ending in (".making", ".removing"))
    for left in (made, old):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    try:
        made.mkdir(mode=0o700)
        for name, array in arrays.items():
            numpy.save(made / f"{name}.npy", array)
        (made / META).write_text(json.dumps({"key": key, "meta": meta}), encoding="utf-8")
        if folder.exists():
            os.rename(folder, old)  # processes that have mapped it keep it
        os.rename(made, folder)
    finally:
        for left in (made, old):
            shutil.rmtree(left, ignore_errors=True)


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
    if found is not None:
        return found
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(folder.with_name(f"{name}.lock")):
        found = _open(folder, key)  # another process may have been quicker
        if found is None:
            arrays, meta = read()
            _write(folder, key, arrays, meta)
            found = _open(folder, key)
    assert found is not None
    return found
