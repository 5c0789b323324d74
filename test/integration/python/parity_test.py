"""A model in Python has the weights of the built-in one of the same name, to 1e-5 after 20 iterations.

A ResNet amplifies differences of rounding: one of 1e-7 in its first layer is one of 0.03 after 20 iterations with a learning rate of
0.01 and 16 images, and of 5e-6 with 3e-5. So it is trained slowly.

With two workers by default; `parity_test.py BUILD/bin --count 3` tries one, two and four. python_test does so with an MLP.
"""

import json
import pathlib
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
import user_code  # noqa: E402

ITERATIONS = 20
REFERENCES = job.SOURCE / "test" / "unit" / "runtime" / "torch" / "models"  # the built-in models with torch.nn, and their names
FILE = """
    import pathlib
    import sys

    import safetensors.torch

    sys.path.insert(0, {references!r})
    import reference_models

    def make_model():
        model = reference_models.{model}
        start = safetensors.torch.load_file(pathlib.Path(__file__).parent / "start.safetensors")
        model.load_state_dict(start, strict=False)  # it has no counters
        return model
"""
RESNET = {"data": {"train": {"format": "synthetic", "feature_count": 768, "samples": 512},
                   "test": {"format": "synthetic", "feature_count": 768, "samples": 16, "first_sample": 512},
                   "classes": 10, "sample_shape": [3, 16, 16]}, "batch_size": 16}
LANGUAGE = {"data": {"train": {"format": "text", "files": ["text.txt"], "from": 0, "to": 0.9},
                     "test": {"format": "text", "files": ["text.txt"], "from": 0.9, "to": 1},
                     "vocabulary": {"tokens": "characters"}, "sequence_length": 32}, "batch_size": 16}
SHAPE = {"width": 64, "heads": 4, "inner": 128, "layers": 2}
count = 1


class ParityTest(user_code.UserCodeTest):
    def check(self, model, reference, rest, learning_rate):
        import safetensors.torch
        import torch
        sys.path.insert(0, str(REFERENCES))
        import reference_models
        torch.manual_seed(3)
        start = eval(f"reference_models.{reference}", {"reference_models": reference_models}).state_dict()
        start = {name: tensor for name, tensor in start.items() if "num_batches" not in name}
        safetensors.torch.save_file(start, self.folder / "start.safetensors")
        (self.folder / "train.py").write_text(textwrap.dedent(FILE.format(references=str(REFERENCES), model=reference)))
        config = self.folder / "job.json"
        config.write_text(json.dumps({
            "name": "parity", **rest, "model": {"type": "python", "file": "train.py"},
            "optimizer": {"type": "sgd", "learning_rate": learning_rate, "momentum": 0.9}, "cluster": {"workers": 2},
            "evaluation": {"enabled": False}, "stop": {"max_iterations": ITERATIONS}}))
        native = json.dumps({**model, "start": {"weights": str(self.folder / "start.safetensors")}})
        for workers in (2, 1, 4)[:count]:
            weights = {}
            for name, arguments in (("built-in", ["--set", f"model={native}"]), ("python", [])):
                run = self.run_folder(f"{name}{workers}")
                self.train(config, "--quiet", "--workers", workers, "--run", run, *arguments, timeout=600)
                weights[name] = safetensors.torch.load_file(job.checkpoints(run)[-1] / "weights.safetensors")
            self.compare(start, weights["built-in"], weights["python"], workers)

    def compare(self, start, built_in, own, workers):
        self.assertLessEqual(start.keys(), built_in.keys())
        self.assertLessEqual(start.keys(), own.keys())
        apart = {name: float(((built_in[name] - own[name]).abs() / own[name].abs().clamp(min=1)).max()) for name in start}
        statistics = {name for name in start if "running" in name}
        moved = max(float((own[name] - start[name]).abs().max()) for name in start.keys() - statistics)
        furthest = max(start.keys() - statistics, key=apart.get)
        print(f"{workers} workers: {furthest} is {apart[furthest]:.1e} apart, and the weights {moved:.1e} from the start")
        self.assertLess(apart[furthest], 1e-5)
        self.assertGreater(moved, 1e-4)
        # Of a worker's own part of the batch: with a quarter of it they follow the weights' differences more.
        self.assertLess(max((apart[name] for name in statistics), default=0.0), 2e-4 if workers == 4 else 1e-4)

    def test_resnet18(self):
        self.check({"type": "resnet18"}, "resnet18()", RESNET, 3e-5)

    def test_a_transformer(self):
        """The language model: pairs of sentences, which transformer_tiny translates, are not data for a model in Python."""
        text = " ".join(str(number * number) for number in range(3000))
        (self.folder / "text.txt").write_text(text)
        words = 4 + len(set(text))  # padding, the unknown, begin and end
        self.check({"type": "language_model", **SHAPE, "dropout": 0.0},
                   f"LanguageModel({words}, 32, {', '.join(str(value) for value in SHAPE.values())})", LANGUAGE, 0.01)


if __name__ == "__main__":
    count = job.count_option(count)
    job.main()
