"""scripts/check_code.py on a project of a few files, of which some are changed by the last commit."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
TIDY = PROJECT / ".venv/bin/clang-tidy"
GOOD = "#pragma once\n#include <string>\nstd::string name();\n"
LEANING = "#pragma once\nstd::string name();\n"
SWAPPED = "#include <string>\nstd::string line() { return std::string('-', 50); }\n"
NO_TIDY = not TIDY.exists() and shutil.which("clang-tidy") is None


class CheckCodeTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.git("init", "-q", "-b", "main")
        shutil.copy(PROJECT / ".clang-tidy", self.root)

    def git(self, *arguments):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=self.root, check=True,
                              capture_output=True, text=True).stdout

    def commit(self, **files):
        """Paths have one folder: noise_a_h is noise/a.h. All .cpp of a folder are compiled as one file, those of "test" alone."""
        for name, text in files.items():
            folder, stem, suffix = name.split("_")
            (self.root / folder).mkdir(exist_ok=True)
            (self.root / folder / f"{stem}.{suffix}").write_text(text)
        entries = []
        for folder in sorted({path.parent for path in self.root.glob("*/*.cpp")} - {self.root / "build"}):
            sources = sorted(folder.glob("*.cpp"))
            if folder.name != "test":
                unity = self.root / "build" / folder.name / "Unity" / "unity_0.cxx"
                unity.parent.mkdir(parents=True, exist_ok=True)
                unity.write_text("".join(f'#include "{source}"\n' for source in sources))
                sources = [unity]
            entries += [{"directory": str(self.root), "file": str(source),
                         "command": f"c++ -std=c++20 -I{self.root} -o x.o -c {source}"} for source in sources]
        (self.root / "build").mkdir(exist_ok=True)
        (self.root / "build/compile_commands.json").write_text(json.dumps(entries))
        (self.root / "build/build.ninja").write_text("")
        (self.root / ".gitignore").write_text("build\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def check(self, *arguments):
        run = subprocess.run(["python3", PROJECT / "scripts/check_code.py", *arguments, "--root", self.root, "--build", "build"],
                             capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr

    def test_a_header_that_leans_on_others_is_found(self):
        self.commit(noise_a_cpp="#include <string>\n", noise_a_h=GOOD)
        self.commit(noise_b_h=LEANING)

        code, said = self.check("headers")

        self.assertEqual(code, 1, said)
        self.assertIn("noise/b.h does not compile by itself", said)
        self.assertIn("1 looked at", said)

    def test_what_has_not_changed_is_looked_at_on_demand(self):
        self.commit(noise_a_cpp="", noise_b_h=LEANING, ps_c_h=GOOD, ps_c_cpp="")
        self.commit(ps_c_cpp="int x;\n")

        self.assertEqual(self.check("headers")[0], 0)
        self.assertEqual(self.check("headers", "--all")[0], 1)
        self.assertEqual(self.check("headers", "--all", "ps")[0], 0)
        self.assertEqual(self.check("headers", "--since", "HEAD", "--all")[0], 1)
        self.assertEqual(self.check("headers", "--since", "HEAD")[0], 77)

    def test_all_of_a_branch_is_looked_at_and_what_is_not_committed(self):
        self.commit(noise_a_cpp="")
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.commit(noise_b_h=LEANING)
        self.commit(noise_c_h=GOOD)
        (self.root / "noise" / "c.h").write_text(LEANING)

        code, said = self.check("headers")

        self.assertEqual(code, 1, said)
        self.assertIn("noise/b.h does not", said)
        self.assertIn("noise/c.h does not", said)

    def test_a_first_commit_and_a_wrong_one_are_told(self):
        self.commit(noise_a_cpp="", noise_b_h=LEANING)

        self.assertEqual(self.check("headers")[0], 77)
        self.assertEqual(self.check("headers", "--since", "abc")[0], 2)

    def test_what_the_time_did_not_suffice_for_is_named(self):
        self.commit(noise_a_cpp="")
        self.commit(noise_b_h=GOOD, noise_c_h=GOOD)

        code, said = self.check("headers", "--seconds", "0.000001", "--jobs", "1")

        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"NOT looked at, .*noise/c\.h")

    @unittest.skipIf(NO_TIDY, "there is no clang-tidy here: scripts/setup.sh --test installs it")
    def test_a_fault_in_one_file_of_a_library_or_in_a_header_is_found(self):
        self.commit(noise_a_cpp="int a;\n", noise_b_cpp=SWAPPED, ps_c_cpp='#include "noise/d.h"\n', noise_d_h="#pragma once\n")
        self.assertEqual(self.check("tidy", "--since", "HEAD")[0], 77)
        self.commit(noise_a_cpp="int b;\n")

        code, said = self.check("tidy")

        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"noise/b\.cpp:2:\d+: .*bugprone-string-constructor")

        self.commit(noise_d_h=f"#pragma once\n{SWAPPED.replace('std::string line', 'inline std::string line')}")
        code, said = self.check("tidy")
        self.assertEqual(code, 1, said)
        self.assertIn("noise/d.h:3", said)

    @unittest.skipIf(NO_TIDY, "there is no clang-tidy here: scripts/setup.sh --test installs it")
    def test_a_good_file_is_good(self):
        self.commit(test_a_cpp="int a;\n")
        self.commit(test_b_cpp="int b() { return 1; }\n", test_c_cpp="int c;\n")

        code, said = self.check()

        self.assertEqual(code, 0, said)
        self.assertIn("tidy: 2 looked at", said)


if __name__ == "__main__":
    unittest.main()
