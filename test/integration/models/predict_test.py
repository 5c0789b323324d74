"""scavenger-predict and scavenger-train --evaluate: the numbers of the job, and answers that numpy gives, too."""

import csv
import io
import json
import pathlib
import shutil
import subprocess
import sys

import numpy
import safetensors.numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

sys.path.insert(0, str(job.SOURCE / "scripts" / "loggers"))
from run_log import metrics_of  # noqa: E402

CLASSES = 8


def samples_of(count, seed):
    """Eight clusters in six dimensions."""
    stream = numpy.random.default_rng(seed)
    y = stream.integers(0, CLASSES, count)
    centres = numpy.random.default_rng(99).normal(size=(CLASSES, 6)) * 2
    return (stream.normal(size=(count, 6)) + centres[y]).astype(numpy.float32), y


class PredictTest(job.JobTest):
    def call(self, program, *arguments, check=0):
        done = subprocess.run([str(job.programs / program), *map(str, arguments)], env=self.environment(), cwd=self.folder,
                              capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, check, done.stderr)
        return done.stdout if check == 0 else done.stderr

    def write_config(self, data, model, stop, **more):
        config = self.folder / "job.json"
        config.write_text(json.dumps({"name": "asked", "data": data, "model": model, "stop": stop,
                                      "optimizer": {"type": "sgd", "learning_rate": 0.05}, "batch_size": 32,
                                      "cluster": {"workers": 2}, "evaluation": {"every_iterations": 20, "batch_size": 37},
                                      "checkpoint": {"every_iterations": 20, "keep_last": 10}, **more}))
        return config

    def write_arrays(self, split, x, y):
        (self.folder / "data").mkdir(exist_ok=True)
        numpy.savez(self.folder / "data" / f"{split}.npz", x=x, y=y)
        return {"format": "arrays", "features": f"data/{split}.npz", "labels": f"data/{split}.npz"}

    def train_classes(self):
        data = {"train": self.write_arrays("train", *samples_of(400, 1)), "test": self.write_arrays("test", *samples_of(301, 2)),
                "classes": CLASSES, "scale": 0.5, "normalise": {"mean": [0.25], "standard_deviation": [2.0]}}
        self.train(self.write_config(data, {"type": "mlp", "hidden": [16]}, {"max_iterations": 60}), "--run", self.run_folder(), "--quiet")

    def assert_same_as_the_job(self, split="test"):
        """Every checkpoint's metrics, bit by bit."""
        run = self.run_folder()
        evaluations = job.events(run, "evaluation")
        # One that finds the disk busy with the last is taken at a later boundary.
        there = {int(path.name.removeprefix("iteration_")) for path in job.checkpoints(run)}
        self.assertIn(evaluations[-1]["iteration"], there)
        for event in (each for each in evaluations if each["iteration"] in there):
            found = json.loads(self.call("scavenger-train", "--evaluate", run, "--checkpoint", event["iteration"], "--split", split, "--json"))
            self.assertEqual(found["iteration"], event["iteration"])
            self.assertEqual(found["samples"], event["samples"])
            metrics = metrics_of(event)
            self.assertEqual({name: found.get(name) for name in metrics}, metrics)

    def test_metrics_of_classes_are_those_of_the_job(self):
        self.train_classes()
        self.assert_same_as_the_job()
        best = json.loads(self.call("scavenger-predict", self.run_folder(), "--evaluate", "--json"))
        self.assertEqual(best["iteration"], min(job.events(self.run_folder(), "evaluation"), key=lambda event: event["loss"])["iteration"])
        self.assertIn("test top-5 accuracy", self.call("scavenger-train", "--evaluate", self.run_folder()))
        train = json.loads(self.call("scavenger-train", "--evaluate", self.run_folder(), "--split", "train", "--json"))
        self.assertEqual(train["samples"], 400)

    def test_metrics_of_text_are_those_of_the_job_and_there_are_no_predictions(self):
        (self.folder / "text.txt").write_text("the quick brown fox jumps over the lazy dog . " * 300)
        text = {"format": "text", "files": ["text.txt"]}
        data = {"train": {**text, "to": 0.8}, "test": {**text, "from": 0.8}, "vocabulary": {"tokens": "characters"}, "sequence_length": 16}
        self.train(self.write_config(data, {"type": "language_model", "width": 16, "heads": 2, "inner": 32, "layers": 1}, {"max_iterations": 40}),
                   "--run", self.run_folder(), "--quiet")
        self.assert_same_as_the_job()
        self.assertIn("use --evaluate", self.call("scavenger-predict", self.run_folder(), check=2))

    def expected(self, weights, x):
        hidden = numpy.maximum(((x * 0.5 - 0.25) / 2.0) @ weights["layers.0.weight"].T + weights["layers.0.bias"], 0)
        logits = hidden @ weights["layers.1.weight"].T + weights["layers.1.bias"]
        powers = numpy.exp(logits - logits.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def test_predictions_are_those_of_numpy_with_the_same_weights(self):
        self.train_classes()
        self.call("scavenger-export", self.run_folder(), self.folder / "weights.safetensors")
        x, y = samples_of(90, 3)
        expected = self.expected(safetensors.numpy.load_file(self.folder / "weights.safetensors"), x)
        shutil.rmtree(self.folder / "data")  # a model is asked where its data are not
        numpy.save(self.folder / "x.npy", x)
        self.call("scavenger-predict", self.run_folder(), "--input", "x.npy", "--output", "p.npy")
        found = numpy.load(self.folder / "p.npy")
        self.assertEqual((found.shape, found.dtype), ((90, CLASSES), numpy.float32))
        numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
        rows = list(csv.DictReader(io.StringIO(self.call("scavenger-predict", self.run_folder(), "--input", "x.npy"))))
        self.assertEqual([int(row["class"]) for row in rows], found.argmax(axis=1).tolist())
        self.assertEqual([row["sample"] for row in rows], [str(i) for i in range(90)])
        numpy.testing.assert_array_equal(numpy.float32([row["p3"] for row in rows]), found[:, 3])
        self.assertEqual([row["probability"] for row in rows], [row["p" + row["class"]] for row in rows])

    def test_the_test_split_is_predicted_as_well_as_the_job_says(self):
        self.train_classes()
        self.call("scavenger-predict", self.run_folder(), "--checkpoint", "last", "--output", "p.npy")
        right = (numpy.load(self.folder / "p.npy").argmax(axis=1) == samples_of(301, 2)[1]).mean()
        self.assertEqual(right, job.events(self.run_folder(), "evaluation")[-1]["accuracy"])

    def test_a_csv_file_may_have_the_label_column_or_not(self):
        x, y = samples_of(300, 1)
        for name in ("train", "test"):
            numpy.savetxt(self.folder / f"{name}.csv", numpy.column_stack([y, x]), delimiter=",", fmt="%.6g")
        source = {"format": "csv", "label_column": "0"}
        data = {"train": {**source, "files": ["train.csv"]}, "test": {**source, "files": ["test.csv"]}, "classes": CLASSES}
        self.train(self.write_config(data, {"type": "mlp", "hidden": []}, {"max_iterations": 40}), "--run", self.run_folder(), "--quiet")
        numpy.savetxt(self.folder / "bare.csv", x, delimiter=",", fmt="%.6g")
        of_split = self.call("scavenger-predict", self.run_folder())
        self.assertEqual(self.call("scavenger-predict", self.run_folder(), "--input", "test.csv"), of_split)
        self.assertEqual(self.call("scavenger-predict", self.run_folder(), "--input", "bare.csv"), of_split)
        self.call("scavenger-predict", self.run_folder(), "--output", "file.csv")
        self.assertEqual((self.folder / "file.csv").read_text(), of_split)
        (self.folder / "short.csv").write_text("1,2,3\n")
        self.assertIn("short.csv", self.call("scavenger-predict", self.run_folder(), "--input", "short.csv", check=2))

    def test_values_are_predicted_as_values(self):
        x = numpy.random.default_rng(4).normal(size=(300, 3)).astype(numpy.float32)
        y = (x @ numpy.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])).astype(numpy.float32)
        data = {"train": self.write_arrays("train", x, y), "test": self.write_arrays("test", x, y)}
        self.train(self.write_config(data, {"type": "mlp", "hidden": []}, {"max_iterations": 200}), "--run", self.run_folder(), "--quiet")
        self.assert_same_as_the_job()
        self.call("scavenger-predict", self.run_folder(), "--output", "v.npy")
        values = numpy.load(self.folder / "v.npy")
        self.assertEqual(values.shape, (300, 2))
        last = job.events(self.run_folder(), "evaluation")[-1]
        self.assertAlmostEqual(float(((values - y) ** 2).mean()), last["mse"], places=5)
        self.assertEqual(self.call("scavenger-predict", self.run_folder()).splitlines()[0], "sample,value0,value1")

    def test_samples_of_another_shape_are_refused(self):
        self.train_classes()
        numpy.save(self.folder / "x.npy", numpy.zeros((5, 7), numpy.float32))
        said = self.call("scavenger-predict", self.run_folder(), "--input", "x.npy", check=2)
        self.assertIn("samples of shape [7] do not fit the model, which was trained on [6]", said)

    def test_samples_are_not_replaced_by_predictions(self):
        self.train_classes()
        before = b"1,2,3,4,5,6\n"
        (self.folder / "x.csv").write_bytes(before)
        said = self.call("scavenger-predict", self.run_folder(), "--input", "x.csv", "--output", "./x.csv", check=2)
        self.assertIn("which predictions would replace", said)
        self.assertEqual((self.folder / "x.csv").read_bytes(), before)
        self.assertIn("--threads", self.call("scavenger-predict", self.run_folder(), "--threads", 100000, check=2))

    def test_a_job_without_a_checkpoint_is_told_so(self):
        self.train_classes()
        shutil.rmtree(self.run_folder() / "checkpoints")
        self.assertIn("the job has written no checkpoint yet", self.call("scavenger-predict", self.run_folder(), check=2))


if __name__ == "__main__":
    job.main()
