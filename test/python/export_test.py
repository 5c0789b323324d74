"""Trained models in Python, written as a state_dict and as ONNX."""

import importlib.util
import pathlib
import shutil
import sys
import tempfile
import textwrap
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "safetensors"))
HAS_ONNX = all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript"))
if HAS_TORCH:
    import safetensors.torch
    import torch

    from scavenger.exporting import export, read_safetensors
    from scavenger.problems import UserError

FILE = """
    import torch
    from torch import nn

    def make_model():
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
        model[0].requires_grad_(False)
        return WRAP(model)
"""


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python and safetensors are not installed")
class ExportTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scavenger_export_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def question(self, to, wrap="", more="", **changes):
        """What scavenger-export asks, and the weights that the job has trained: not those that are frozen."""
        path = self.folder / "train.py"
        path.write_text(textwrap.dedent(FILE).replace("WRAP", wrap) + textwrap.dedent(more))
        generator = torch.Generator().manual_seed(9)
        trained = {"1.running_mean": torch.rand(4, generator=generator), "1.running_var": torch.rand(4, generator=generator),
                   "1.num_batches_tracked": torch.tensor(2**40 + 1), "1.weight": torch.rand(4, generator=generator),
                   "1.bias": torch.rand(4, generator=generator), "3.weight": torch.rand(2, 4, generator=generator),
                   "3.bias": torch.rand(2, generator=generator)}
        trained.update(changes)
        safetensors.torch.save_file(trained, self.folder / "weights.safetensors")
        return {"config": {"model": {"file": str(path)}, "seed": 1, "data": {"train": {"format": "synthetic"}}},
                "weights": str(self.folder / "weights.safetensors"), "to": to, "file": str(self.folder / f"out.{to}"),
                "data_shape": {"sample_shape": [3], "vocabulary": 0}}, trained

    def said_of(self, question):
        with self.assertRaises(UserError) as raised:
            export(question)
        self.assertTrue(raised.exception.remedy)
        return raised.exception.what

    def test_our_reader_reads_what_the_library_writes(self):
        _, trained = self.question("pytorch", half=torch.arange(3).bfloat16(), flag=torch.tensor([True, False]))
        found = read_safetensors(self.folder / "weights.safetensors")
        self.assertEqual(sorted(found), sorted(trained))
        for name, tensor in trained.items():
            self.assertEqual(found[name].dtype, tensor.dtype)
            self.assertTrue(torch.equal(found[name], tensor), name)

    def test_a_state_dict_has_what_was_trained_and_what_was_frozen(self):
        for wrap in ("", "torch.compile"):
            question, trained = self.question("pytorch", wrap)
            export(question)
            found = torch.load(question["file"], weights_only=True)
            torch.manual_seed(1)
            frozen = torch.nn.Linear(3, 4)
            self.assertTrue(torch.equal(found.pop("0.weight"), frozen.weight))
            self.assertTrue(torch.equal(found.pop("0.bias"), frozen.bias))
            self.assertEqual(sorted(found), sorted(trained))
            self.assertTrue(all(torch.equal(found[name], tensor) for name, tensor in trained.items()))

    def test_another_model_is_refused(self):
        self.assertIn("the model has no strange, which the job has trained",
                      self.said_of(self.question("pytorch", strange=torch.zeros(1))[0]))
        self.assertIn("3.bias is [2], and the job trained [5]",
                      self.said_of(self.question("pytorch", **{"3.bias": torch.zeros(5)})[0]))

    @unittest.skipUnless(HAS_ONNX, "onnx and onnxscript are not installed")
    def test_onnx_computes_what_the_model_does_for_any_number_of_samples(self):
        import onnx.reference
        from scavenger.exporting import load_trained
        question, trained = self.question("onnx")
        export(question)
        inputs = torch.randn(5, 3)
        found = onnx.reference.ReferenceEvaluator(question["file"]).run(None, {"input": inputs.numpy()})[0]
        torch.manual_seed(1)
        namespace = {}
        exec((self.folder / "train.py").read_text(), namespace)
        model = namespace["make_model"]().eval()
        load_trained(model, trained)
        torch.testing.assert_close(torch.from_numpy(found), model(inputs).detach())

    def test_examples_that_fail_or_are_no_tensors_are_told(self):
        if not HAS_ONNX:
            self.skipTest("onnx and onnxscript are not installed")
        for body, words in [("raise KeyError('none today')", "example_inputs() failed: KeyError: 'none today'"),
                            ("return 'words'", "example_inputs() returned str, not tensors"),
                            ("return {}", "example_inputs() returned dict, not tensors")]:
            question, _ = self.question("onnx", more=f"""
                def example_inputs():
                    {body}
                """)
            with self.assertRaises(UserError) as raised:
                export(question)
            self.assertIn(words, raised.exception.what)

    def test_a_missing_library_and_missing_examples_are_named(self):
        with unittest.mock.patch.dict(sys.modules, {"onnx": None}):
            self.assertIn("ONNX is written with the library onnx", self.said_of(self.question("onnx")[0]))
        question, _ = self.question("onnx")
        question["config"]["data"]["train"]["format"] = "python"
        if HAS_ONNX:
            self.assertIn("ONNX needs inputs to follow through the model", self.said_of(question))


if __name__ == "__main__":
    unittest.main()
