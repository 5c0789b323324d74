#!/usr/bin/env python3
"""Checks C++ files that a build does not: `check_code.py [tidy] [headers] [options]`, or both.

tidy      clang-tidy with .clang-tidy of the project. A library is compiled as one file and looked at as one: that
          takes hardly longer than one of its files does.
headers   each header compiles by itself, with the flags of its folder.

Without --all only what differs from the merge base with origin/main (else from HEAD~1, or --since COMMIT), with all
of a library that has such a file. It needs a configured build folder (--build, build/release): nothing is built
but what is generated. Exit codes: 0 nothing found, 1 findings, 2 it cannot check, 77 nothing has changed.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

PROJECT = pathlib.Path(__file__).resolve().parents[1]
UNITY_INCLUDE = re.compile(r'^#include "([^"]+\.cpp)"$', re.MULTILINE)


class CannotCheck(Exception):
    """What is missing, and what to do about it."""


@dataclasses.dataclass(frozen=True)
class Unit:
    """What a compiler is called for once: a file by itself, or a library as one file. Paths as in `git ls-files`."""

    file: str
    command: tuple
    sources: tuple

    def folder(self):
        return os.path.dirname(self.sources[0])


def output_of(*command, check=True):
    return subprocess.run(command, capture_output=True, text=True, check=check, cwd=root).stdout


def units_of(build):
    database = build / "compile_commands.json"
    if not database.exists():
        raise CannotCheck(f"there is no {database}: cmake --preset release")
    units = []
    for entry in json.loads(database.read_text()):
        file = pathlib.Path(entry["file"])
        sources = [file]
        if "Unity" in file.parts:
            sources = [pathlib.Path(path) for path in UNITY_INCLUDE.findall(file.read_text())]
        inside = [str(path.relative_to(root)) for path in sources if path.is_relative_to(root)]
        if inside:
            units.append(Unit(str(file), tuple(shlex.split(entry["command"])), tuple(inside)))
    return units


def changed_files(since):
    """Those that are still there, committed or not."""
    for base in (since, merge_base(), "HEAD~1"):
        if base and not subprocess.run(["git", "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}"], cwd=root,
                                       stdout=subprocess.DEVNULL, check=False).returncode:
            print(f"check_code: what differs from {base}")
            return output_of("git", "diff", "--name-only", "--diff-filter=d", base).splitlines()
        if base and base == since:
            raise CannotCheck(f"there is no commit {since}: name one that `git log` shows")
    print("check_code: there is no other commit to compare with")
    return []


def merge_base():
    """With origin/main; none where that is what is checked out."""
    base = output_of("git", "merge-base", "HEAD", "origin/main", check=False).strip()
    return None if base == output_of("git", "rev-parse", "HEAD").strip() else base


def units_with(path, units):
    """Who compiles a .cpp; for a header the one that is named after it, else one that includes it, nearest first."""
    if path.endswith(".cpp"):
        return [unit for unit in units if path in unit.sources]
    includers = output_of("git", "grep", "-l", "-F", f'#include "{path}"', check=False).splitlines()
    includers.sort(key=lambda file: -len(os.path.commonpath([path, file])))
    for candidate in [path[:-2] + ".cpp", *includers]:
        found = [unit for unit in units if candidate in unit.sources]
        if found:
            return found[:1]
    return []


def flags_for(header, units):
    """How the folder's own files are compiled, those of a folder above it, or else the nearest ones: compiler and flags."""
    units = [unit for unit in units if f"-I{root}" in unit.command]  # not what has no headers of ours
    folder = os.path.dirname(header)
    while folder:
        for unit in units:
            if unit.folder() == folder:
                return compiler_and_flags(unit.command)
        folder = os.path.dirname(folder)
    nearness = {unit: len(os.path.commonpath([unit.sources[0], header])) for unit in units}
    nearest = max(units, key=nearness.get, default=None)
    if nearest and nearness[nearest]:
        return compiler_and_flags(nearest.command)
    raise CannotCheck(f"nothing that is compiled stands in the same part of the project as {header}")


def compiler_and_flags(command):
    words = list(command)
    if "ccache" in os.path.basename(words[0]):
        del words[0]
    for option in ("-o", "-c"):
        place = words.index(option)
        del words[place:place + 2]
    return words


def check_header(header, units):
    words = [*flags_for(header, units), "-O0", "-fsyntax-only", "-x", "c++", "-include", header, "/dev/null"]
    run = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else f"{header} does not compile by itself:\n{run.stderr}"


def clang_tidy():
    for candidate in (PROJECT / ".venv/bin/clang-tidy", pathlib.Path(sys.executable).parent / "clang-tidy"):
        if candidate.exists():
            return str(candidate)
    found = shutil.which("clang-tidy")
    if not found:
        raise CannotCheck("there is no clang-tidy: scripts/setup.sh --test installs it")
    return found


def check_unit(unit, build, program):
    # Only the one file of a library includes others of this kind.
    checks = ["--checks=-bugprone-suspicious-include"] if "Unity" in unit.file else []
    run = subprocess.run([program, "-p", build, "--quiet", "--extra-arg=-Wno-unknown-warning-option",
                          "--extra-arg=-Wno-unused-command-line-argument", "--extra-arg=-Wno-unknown-pragmas", *checks, unit.file],
                         cwd=root, capture_output=True, text=True, check=False)
    if run.returncode == 0 and not run.stdout.strip():
        return ""
    return run.stdout or run.stderr


def check_all(kind, check, things, names, options):
    """Checks one thing after the other, `--jobs` at once, until the time is over; returns how many had findings."""
    begin = time.monotonic()
    late, bad = [], 0

    def timed(thing):
        if options.seconds and time.monotonic() - begin > options.seconds:
            return None
        return check(thing)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, findings in zip(names, pool.map(timed, things)):
            if findings is None:
                late.append(name)
            elif findings:
                bad += 1
                print(findings, flush=True)
    print(f"check_code: {kind}: {len(names) - len(late)} looked at in {time.monotonic() - begin:.0f} s, {bad} with findings")
    if late:
        print(f"check_code: {kind}: NOT looked at, since {options.seconds} s were over: {' '.join(late)}\n"
              f"check_code: remedy: scripts/check_code.py {kind}, which has no limit")
    return bad


def generate(build):
    """What the build writes itself and others include."""
    listed = output_of("ninja", "-C", str(build), "-t", "targets", "all", check=False)
    outputs = [line.split(":")[0] for line in listed.splitlines()
               if re.match(r"[^:]*\.(h|cpp): CUSTOM_COMMAND", line) and not line.startswith("/")]
    if outputs:
        subprocess.run(["ninja", "-C", str(build), *outputs], stdout=subprocess.DEVNULL, check=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="tidy|headers")
    parser.add_argument("--all", nargs="*", metavar="FOLDER", help="all files, or all of these folders")
    parser.add_argument("--since", metavar="COMMIT")
    parser.add_argument("--seconds", type=float, default=0, help="begin nothing more after so long; 0 (default): no limit")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", type=pathlib.Path, default="build/release")
    parser.add_argument("--root", type=pathlib.Path, default=PROJECT, help="another source tree")
    options = parser.parse_args()
    options.what = options.what or ["headers", "tidy"]
    for what in options.what:
        if what not in ("tidy", "headers"):
            parser.error(f'there is no "{what}"; remedy: name tidy or headers')
    return options


def main():
    global root
    options = arguments()
    root = options.root.resolve()
    build = root / options.build
    units = units_of(build)
    generate(build)
    if options.all is None:
        paths = changed_files(options.since)
    else:
        paths = output_of("git", "ls-files", *options.all).splitlines()
    paths = [path for path in paths if path.endswith((".h", ".cpp"))]
    if not paths:
        print("check_code: no C++ file to look at")
        return 77
    bad = 0
    if "headers" in options.what:
        headers = [path for path in paths if path.endswith(".h")]
        bad += check_all("headers", lambda header: check_header(header, units), headers, headers, options)
    if "tidy" in options.what:
        chosen = list(dict.fromkeys(unit for path in paths for unit in units_with(path, units)))
        program = clang_tidy()
        names = [unit.folder() if len(unit.sources) > 1 else unit.sources[0] for unit in chosen]
        bad += check_all("tidy", lambda unit: check_unit(unit, build, program), chosen, names, options)
    return 1 if bad else 0


root = PROJECT
if __name__ == "__main__":
    try:
        sys.exit(main())
    except CannotCheck as problem:
        print(f"check_code: error: {problem}", file=sys.stderr)
        sys.exit(2)
