#!/usr/bin/env python3
"""Packs an installed build without LibTorch and the Python package into a wheel: pack_wheel.py STAGE FOLDER."""

import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ("scavenger-train", "scavenger-ctl", "scavenger-plan", "scavenger-report", "scavenger-export", "scavenger-campaign",
            "scavenger-md")  # that people call
STARTED = ("scavenger-ps", "scavenger-python-worker", "scavenger-task")  # that these start
EXTRAS = {"images": ["pillow"], "tables": ["pyarrow"], "text": ["tokenizers"], "onnx": ["onnx", "onnxscript"]}
# Every system has these; all other libraries are packed.
SYSTEM = re.compile(r"(ld-linux.*|linux-vdso|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so")
# The libstdc++ of GCC 12, whose symbols are GLIBCXX_3.4.30, came with systems of this glibc.
GLIBC_OF_GCC_12 = (2, 35)


def output_of(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def libraries_of(files):
    """The libraries that the files need and a system may lack: name -> path."""
    found = {}
    for file in files:
        for name, path in re.findall(r"(\S+) => (/\S+)", output_of("ldd", str(file))):
            if not SYSTEM.match(name):
                found[name] = pathlib.Path(path)
    return found


def needed_glibc(contents):
    """The newest glibc that any of these binaries asks for, as (2, 35)."""
    newest = (2, 17)
    for content in contents:
        newest = max([newest, *((2, int(minor)) for minor in re.findall(rb"GLIBC_2\.(\d+)", content))])
        if b"GLIBCXX_3.4.30" in content:
            newest = max(newest, GLIBC_OF_GCC_12)
    return newest


def collect(stage):
    """The files of the wheel: place -> content."""
    package = SOURCE / "python"
    files = {str(path.relative_to(package)): path.read_bytes()
             for path in sorted((package / "scavenger").rglob("*")) if path.suffix in (".py", ".typed")}
    binaries = [stage / "bin" / name for name in (*PROGRAMS, *STARTED)]
    library = stage / "lib" / "libscavenger_worker.so"
    executables = [path for path in binaries if path.read_bytes()[:4] == b"\x7fELF"]
    files.update({f"scavenger/bin/{path.name}": path.read_bytes() for path in binaries})
    files["scavenger/lib/libscavenger_worker.so"] = library.read_bytes()
    for name, path in libraries_of([*executables, library]).items():
        files[f"scavenger/lib/{name}"] = path.read_bytes()
    return files


def describe(files, version, tag):
    """Adds the dist-info folder."""
    folder = f"scavenger-{version}.dist-info"
    files[f"{folder}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: scavenger\nVersion: {version}\n"
        "Summary: Elastic data-parallel training of PyTorch models\n"
        "Requires-Python: >=3.9\nRequires-Dist: torch>=2.1\nRequires-Dist: numpy\n" +
        "".join(f"Provides-Extra: {extra}\n" + "".join(f'Requires-Dist: {name}; extra == "{extra}"\n' for name in names)
                for extra, names in EXTRAS.items())).encode()
    files[f"{folder}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: pack_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n").encode()
    commands = "".join(f"{name} = scavenger.commands:main\n" for name in PROGRAMS)
    files[f"{folder}/entry_points.txt"] = f"[console_scripts]\n{commands}".encode()
    record = f"{folder}/RECORD"
    lines = []
    for place, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{place},sha256={digest},{len(content)}\n")
    files[record] = ("".join(lines) + f"{record},,\n").encode()


def write(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, content in files.items():
            entry = zipfile.ZipInfo(place, (2020, 1, 1, 0, 0, 0))
            mode = 0o755 if place.startswith("scavenger/bin/") else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


def main(stage, folder):
    version = re.search(r"project\(scavenger VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
    files = collect(pathlib.Path(stage))
    own = [content for place, content in files.items() if place.startswith(("scavenger/bin/", "scavenger/lib/"))]
    major, minor = needed_glibc(own)
    machine = output_of("uname", "-m").strip()
    tag = f"py3-none-manylinux_{major}_{minor}_{machine}"
    describe(files, version, tag)
    path = pathlib.Path(folder) / f"scavenger-{version}-{tag}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, files)
    print(f"{path}: {path.stat().st_size / 2**20:.1f} MiB, for glibc {major}.{minor} or newer")


if __name__ == "__main__":
    main(*sys.argv[1:])
