"""build_image_test.py BUILD_FOLDER: an image is built from nothing but files of this machine, and its program runs in it: not as root, and without
a root that it can write to. Debian is stood in for by the libraries that the program needs; scripts/build_image.sh without --base makes the real one.
"""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "test" / "support"))
from oci_image import unpack  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1))
PROGRAMS = ("scavenger-ps", "scavenger-train")
MISSING = next((f"there is no {program}" for program in ("buildah", "unshare", "chroot") if shutil.which(program) is None),
               None if os.geteuid() == 0 else "an image is built as root")


@unittest.skipIf(MISSING, MISSING)
class BuildImageTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_image_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self, *words, check=0):
        done = subprocess.run([PROJECT / "scripts" / "build_image.sh", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        self.assertEqual(done.returncode, check, done.stdout)
        return done.stdout

    def make_base(self):
        base = self.folder / "base"
        for path in ("var/lib/dpkg", "proc", "dev", "tmp"):
            (base / path).mkdir(parents=True)
        (base / "var/lib/dpkg/status").write_text("Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.36-9+deb12u14\n"
                                                  "Maintainer: Debian <d@example.org>\n\nPackage: gone\nStatus: deinstall ok config-files\nVersion: 1\n")
        programs = [BUILD / "bin" / name for name in PROGRAMS] + [pathlib.Path("/bin/sh"), pathlib.Path(shutil.which("id")), pathlib.Path(shutil.which("touch"))]
        said = subprocess.run(["ldd", *programs], check=True, capture_output=True, text=True).stdout
        for path in {*re.findall(r"(/\S+) \(0x", said), *map(str, programs[len(PROGRAMS):])}:
            place = base / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
        return base

    def test_an_image_runs_as_nobody_and_read_only(self):
        prefix = self.folder / "prefix"
        (prefix / "bin").mkdir(parents=True)
        for name in PROGRAMS:
            subprocess.run(["strip", "-o", prefix / "bin" / name, BUILD / "bin" / name], check=True)
        archive, root = self.folder / "image.tar", self.folder / "root"
        said = self.build("--prefix", prefix, "--base", self.make_base(), "--output", archive)
        self.assertRegex(said, r"image\.tar: scavenger:[0-9.]+, \d+ MB, \d+ MB unpacked")
        manifest, config = unpack(archive, root)
        self.assertEqual(len(manifest["layers"]), 2)
        self.assertEqual(config["config"]["User"], "65532:65532")

        script = ('mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && exec chroot --userspec=65532:65532 "$1" /bin/sh -c '
                  "'/opt/scavenger/bin/scavenger-ps --version; id -u; touch /runs/x'")
        done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "run", root], capture_output=True, text=True, env={"PATH": "/usr/sbin:/usr/bin:/bin"})
        version, user = done.stdout.splitlines()
        self.assertRegex(version, r"scavenger-ps \d")
        self.assertEqual(user, "65532")
        self.assertIn("Read-only", done.stderr)

        parts = json.loads((root / "usr/share/scavenger/sbom.spdx.json").read_text())
        self.assertEqual(parts, json.loads((self.folder / "image.spdx.json").read_text()))
        self.assertEqual([part["name"] for part in parts["packages"][1:]], ["scavenger", "libc6"])
        self.assertEqual(sorted(file["fileName"] for file in parts["files"]), [f"./opt/scavenger/bin/{name}" for name in sorted(PROGRAMS)])
        self.assertEqual(len({item["SPDXID"] for item in [*parts["packages"], *parts["files"]]}), len(parts["packages"]) + len(parts["files"]))

        self.assert_valid_for_others(self.folder / "image.spdx.json")

    def assert_valid_for_others(self, bill):
        """By the reference implementation of SPDX, if it is installed."""
        if importlib.util.find_spec("spdx_tools"):
            done = subprocess.run([sys.executable, "-m", "spdx_tools.spdx.clitools.pyspdxtools", "--infile", bill], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_wrong_words_are_refused_before_anything_is_made(self):
        output = self.folder / "image.tar"
        self.assertIn("has no bin/scavenger-train", self.build("--prefix", self.folder, "--base", self.make_base(), "--output", output, check=2))
        self.assertIn("no root of a Debian system", self.build("--base", self.folder / "none", "--output", output, check=2))
        self.assertIn("exclude each other", self.build("--prefix", "a", "--wheel", "b", check=2))
        self.assertIn("unknown option --x", self.build("--x", check=2))
        self.assertFalse(output.exists())


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=2).result
    sys.exit(77 if MISSING else 0 if result.wasSuccessful() else 1)
