"""fetch_boost.py FOLDER: puts the headers of Boost 1.81 into FOLDER/boost. For distributions whose Boost is older.

The archive is checked against the SHA-256 that its publisher names before anything is unpacked.
"""

import hashlib
import os
import pathlib
import re
import shutil
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request

# The official archive, and Debian's copy of the same sources.
SOURCES = [
    (
        "https://archives.boost.io/release/1.81.0/source/boost_1_81_0.tar.bz2",
        "71feeed900fbccca04a3b4f2f84a7c217186f28a940ed8b7ed4725986baf99fa",
    ),
    (
        "https://deb.debian.org/debian/pool/main/b/boost1.81/boost1.81_1.81.0.orig.tar.xz",
        "449afecf5ef98edc0a46826cde6af98d1fb95c2e92962fa8c9e3eb1e8a2928ec",
    ),
]


def download(url, target):
    with urllib.request.urlopen(url, timeout=30) as response, open(target, "wb") as out:
        shutil.copyfileobj(response, out, 1 << 20)


def digest(path):
    hasher = hashlib.sha256()
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            hasher.update(block)
    return hasher.hexdigest()


# <top>/boost/x.hpp in the release; <top>/libs/asio/include/boost/x.hpp in Debian's sources.
HEADER = re.compile(r"[^/]+/(?:libs/[^/]+(?:/[^/]+)?/include/)?(boost/.+)")


def unpack_headers(archive_path, folder):
    """Writes the archive's headers to folder/boost/..."""
    with tarfile.open(archive_path) as archive:
        for member in archive:
            header = HEADER.fullmatch(member.name)
            if member.isfile() and header and ".." not in member.name.split("/"):
                target = folder / header.group(1)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.extractfile(member) as source, open(target, "wb") as out:
                    shutil.copyfileobj(source, out)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        archive = pathlib.Path(scratch) / "archive"
        for url, expected in SOURCES:
            try:
                download(url, archive)
            except (urllib.error.URLError, OSError) as error:
                print(f"fetch_boost: {url}: {error}", file=sys.stderr)
                continue
            if digest(archive) != expected:
                print(f"fetch_boost: {url}: the SHA-256 differs from the one expected", file=sys.stderr)
                continue
            unpack_headers(archive, pathlib.Path(scratch) / "headers")
            shutil.rmtree(folder, ignore_errors=True)
            os.rename(pathlib.Path(scratch) / "headers", folder)
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
