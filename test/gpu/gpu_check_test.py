"""The stages that scripts/gpu_check.sh runs on a GPU, here on the CPU and small: they run, their documents are whole, and
a run that was cut off goes on.

    gpu_check_test.py BUILD_FOLDER
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path.insert(0, str(HERE))

from stage_log import DONE, FAILED, Check, StageLog  # noqa: E402

SKIPPED = 77
build = pathlib.Path(".")


class StagesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)

    def check(self, *stages):
        done = subprocess.run([sys.executable, HERE / "gpu_check.py", "--build", build, "--out", self.out, "--device", "cpu", "--small",
                               "--stages", *stages], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout)
        found = {}
        for stage in stages:
            found[stage] = json.loads((self.out / f"{stage}.json").read_text())
            self.assertTrue(found[stage]["cases"], stage)
            for name, case in found[stage]["cases"].items():
                self.assertEqual(case["state"], DONE, f"{stage}, {name}")
                self.assertTrue(case["values"], f"{stage}, {name}")
                self.assertIn(name, (self.out / f"{stage}.md").read_text())
        return found

    def test_equality_of_results(self):
        for name, case in self.check("tests", "equality")["equality"]["cases"].items():
            if "images" in name or "chunk" in name:
                self.assertEqual(case["values"]["largest difference of weights"], 0.0, name)
            elif "float32" in name:
                self.assertEqual([check["holds"] for check in case["checks"]], [True] * 3, name)
            else:
                self.assertGreater(case["values"]["largest difference of weights"], 0.0)  # another precision

    def test_throughput_beside_pytorch(self):
        for stage in self.check("resnet18", "resnet50", "transformers").values():
            for case in stage["cases"].values():
                self.assertTrue(all(value > 0 for value in case["values"].values()))

    def test_graphs_and_memory(self):
        found = self.check("graphs", "memory")
        for case in found["graphs"]["cases"].values():
            self.assertEqual([check["holds"] for check in case["checks"]], [True, True])
            self.assertEqual(case["values"]["largest difference of weights"], 0.0)  # on the CPU both are the same passes

    def test_jobs(self):
        found = self.check("workers", "all_reduce", "hierarchy", "synchronisation", "copies", "python")
        for stage, case in (("workers", "equal results"), ("all_reduce", "equal results"), ("hierarchy", "host by host"),
                            ("python", "equal results, mlp, K = 2")):
            for check in found[stage]["cases"][case]["checks"]:
                self.assertTrue(check["holds"], f"{stage}: {check}")


class CutOffTest(unittest.TestCase):
    """What is left of a run that ends at any instant."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)

    def log(self, fingerprint="one"):
        return StageLog(self.out, "stage", fingerprint, {"gpus": [], "cores": 1, "system": "x"})

    def test_a_case_that_is_over_is_not_run_again_and_one_that_was_cut_off_is(self):
        log = self.log()
        self.assertTrue(log.begin("first"))
        log.end("first", DONE, {"number": 1.5})
        self.assertTrue(log.begin("second"))

        again = self.log()
        self.assertTrue(again.is_over("first"))
        self.assertFalse(again.is_over("second"))
        self.assertTrue(again.begin("second"))
        self.assertFalse(self.log().begin("second"))  # cut off twice
        self.assertTrue(self.log().has_failed())

    def test_results_of_other_programs_are_begun_anew(self):
        log = self.log()
        log.begin("first")
        log.end("first", DONE)
        self.assertFalse(self.log("another").is_over("first"))

    def test_a_damaged_document_is_begun_anew(self):
        (self.out / "stage.json").write_text('{"fingerprint": "one", "cases": {"fi')
        self.assertFalse(self.log().is_over("first"))

    def test_what_must_hold_is_a_failure_and_a_target_is_not(self):
        log = self.log()
        log.begin("speed")
        log.end("speed", DONE, checks=[Check("ratio", 0.5, 1.0, at_least=True, is_target=True)])
        self.assertFalse(log.has_failed())
        self.assertIn("target missed", log.table.read_text())
        log.begin("difference")
        log.end("difference", DONE, checks=[Check("difference", 0.5, 1e-3)])
        self.assertTrue(log.has_failed())

    def test_a_run_that_is_killed_goes_on(self):
        command = [sys.executable, HERE / "gpu_check.py", "--build", build, "--out", self.out, "--device", "cpu", "--small",
                   "--stages", "equality"]
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and process.poll() is None and not (self.out / "equality.json").exists():
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.assertTrue(json.loads((self.out / "equality.json").read_text())["cases"])
        done = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_stage_without_time_says_that_cases_are_left(self):
        done = subprocess.run([sys.executable, HERE / "gpu_check.py", "--build", build, "--out", self.out, "--device", "cpu", "--small",
                               "--seconds", "0", "--stages", "copies"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertNotIn(json.loads((self.out / "copies.json").read_text())["cases"], ({}, None))


class BundleTest(unittest.TestCase):
    def test_what_is_packed_runs_elsewhere(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            packed = folder / "bundle.tar.xz"
            done = subprocess.run([SOURCE / "scripts" / "gpu_bundle.sh", "--build", build, packed], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=300, env={**os.environ, "XZ_OPT": "-2"})
            self.assertEqual(done.returncode, 0, done.stdout)
            subprocess.run(["tar", "-C", folder, "-xf", packed], check=True)
            done = subprocess.run([folder / "gpu_bundle" / "scripts" / "gpu_check.sh", "--out", folder / "results", "--device", "cpu", "--small",
                                   "--stages", "copies"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                                  env={**os.environ, "SCAVENGER_PYTHON": sys.executable}, cwd=folder)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual((folder / "gpu_bundle" / "site-packages").resolve(), pathlib.Path(packages_of_torch()))


def packages_of_torch():
    import torch
    return pathlib.Path(torch.__file__).resolve().parents[1]


if __name__ == "__main__":
    build = pathlib.Path(sys.argv.pop(1)).resolve()
    if not (build / "bin" / "scavenger-worker").exists():
        print(f"skipped: {build} has no scavenger-worker (built without LibTorch)")
        sys.exit(SKIPPED)
    try:
        packages_of_torch()
    except ImportError:
        print("skipped: there is no PyTorch to compare with")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
