"""Models that do not classify, as a user has them: text, translation, values, a plug-in, weights to start from."""

import json
import os
import pathlib
import random
import signal
import sys
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven"]
ENGLISH = "the cat sat on the mat and looked at the dog . "


class ModelsTest(job.JobTest):
    def config(self, data, model, stop, **more):
        path = self.folder / "job.json"
        path.write_text(json.dumps({
            "name": "tiny", "data": data, "model": model, "stop": stop, "batch_size": 32,
            "optimizer": {"type": "adam", "learning_rate": 0.005}, "cluster": {"workers": 2, "threads_per_worker": 1},
            **more}))
        return path

    def reaches_target(self, config, *arguments):
        self.train(config, "--quiet", "--run", self.run_folder(), *arguments)
        self.assertEqual(job.report(self.run_folder())["status"], "target_reached")


class TextTest(ModelsTest):
    def text_data(self, text, tokens):
        (self.folder / "text.txt").write_text(text)
        source = {"format": "text", "files": ["text.txt"]}
        return {"train": {**source, "from": 0, "to": 0.9}, "test": {**source, "from": 0.9, "to": 1},
                "vocabulary": {"tokens": tokens}, "sequence_length": 24}

    def language_model(self, tokens, text=ENGLISH * 300):
        return self.config(self.text_data(text, tokens),
                           {"type": "language_model", "width": 32, "heads": 2, "inner": 64, "layers": 1, "dropout": 0},
                           {"target": {"metric": "perplexity", "value": 1.5}, "max_epochs": 40})

    def test_characters_of_a_sentence_are_learned(self):
        self.reaches_target(self.language_model("characters"))

    def test_words_of_a_sentence_are_learned(self):
        self.reaches_target(self.language_model("words"))

    def test_a_job_is_not_resumed_with_another_vocabulary(self):
        run = self.run_folder()
        self.train(self.language_model("words"), "--quiet", "--run", run, "--set", 'stop={"max_iterations": 4}')
        (self.folder / "text.txt").write_text((ENGLISH + "zebra ") * 300)
        output = self.train("--resume", run, "--set", "stop.max_iterations=8", check=2)
        self.assertIn("vocabulary", output)

    def test_the_noise_of_text_is_measured_by_one_worker(self):
        self.train(self.language_model("words"), "--quiet", "--run", self.run_folder(), "--workers", 1,
                   "--set", 'stop={"max_iterations": 40}', "--set", "noise.half_batch_share=0.5")
        self.assertIsNotNone(job.report(self.run_folder())["phases"][-1]["noise"])

    def test_a_model_for_other_data_is_refused(self):
        config = self.language_model("words")
        for model in ('{"type": "resnet18"}', '{"type": "cnn", "channels": [4], "dense": 8}'):
            self.assertIn("needs images", self.train(config, "--set", "model=" + model, check=2))
        self.assertIn("takes no text", self.train(config, "--set", 'model={"type": "mlp", "hidden": []}', check=2))
        self.assertIn("needs pairs", self.train(config, "--set", 'model={"type": "transformer_tiny"}', check=2))


class TranslationTest(ModelsTest):
    def pairs(self, count, seed):
        """Numbers in words, and the same in digits, backwards."""
        stream = random.Random(seed)
        lines = [[stream.choice(NUMBERS) for _ in range(stream.randint(2, 5))] for _ in range(count)]
        source = [" ".join(line) for line in lines]
        target = [" ".join(str(NUMBERS.index(word) + 1) for word in reversed(line)) for line in lines]
        return source, target

    def write_pairs(self, split, source, target):
        for language, lines in (("words", source), ("digits", target)):
            (self.folder / f"{split}.{language}").write_text("".join(line + "\n" for line in lines))
        return {"format": "parallel_text", "source": f"{split}.words", "target": f"{split}.digits"}

    def translation(self):
        return self.config({"train": self.write_pairs("train", *self.pairs(3000, 1)),
                            "test": self.write_pairs("test", *self.pairs(100, 2))},
                           {"type": "transformer_tiny", "width": 32, "heads": 2, "inner": 64, "encoder_layers": 1,
                            "decoder_layers": 1, "dropout": 0, "norm": "pre"},
                           {"target": {"metric": "bleu", "value": 80}, "max_epochs": 30},
                           loss={"type": "cross_entropy", "label_smoothing": 0.1}, evaluation={"beam_width": 2})

    def test_sentences_are_translated(self):
        self.reaches_target(self.translation())

    @unittest.skipUnless((job.SHARED_DATA / "multi30k").is_dir(), "the data are not here")
    def test_real_sentences_are_translated_better_and_better(self):
        """The shape of configs/multi30k_transformer.json with a smaller model, for a few seconds."""
        self.train(job.ready_config("multi30k_transformer.json", "multi30k"), "--quiet", "--run", self.run_folder(),
                   "--set", 'model={"type": "transformer_tiny", "width": 64, "heads": 2, "inner": 128, "encoder_layers": 1, "decoder_layers": 1}',
                   "--set", 'optimizer={"type": "adam", "learning_rate": 0.003}', "--set", "batch_size=64",
                   "--set", "data.vocabulary.min_frequency=20", "--set", 'stop={"max_iterations": 60}')
        losses = [loss for event in job.events(self.run_folder(), "iterations") for loss in event["loss"]]
        evaluation = job.events(self.run_folder(), "evaluation")[-1]
        self.assertGreater(losses[0], 6.5)  # of 1400 words all are as likely
        self.assertLess(sum(losses[-5:]) / 5, 5.0)
        self.assertEqual(evaluation["samples"], 1000)
        self.assertGreater(evaluation["bleu"], 0)

    def test_an_empty_line_is_named(self):
        config = self.translation()
        source, target = self.pairs(50, 3)
        target[16] = ""
        self.write_pairs("train", source, target)
        output = self.train(config, check=2)
        for part in ("train.digits:17", "the line is empty"):
            self.assertIn(part, output)

    def test_dropout_is_the_same_for_any_number_of_workers_and_passes(self):
        config = self.translation()
        for name, arguments in (("one", ("--workers", 1)), ("two", ("--workers", 2)),
                                ("passes", ("--workers", 1, "--set", "compute.micro_batch=5"))):
            self.train(config, "--quiet", "--run", self.run_folder(name), *arguments, "--set", "model.dropout=0.3",
                       "--set", 'optimizer={"type": "sgd", "learning_rate": 0.1}', "--set", 'stop={"max_iterations": 20}')
        one = job.last_weights(self.run_folder("one"))
        for name in ("two", "passes"):
            self.assertLess(job.largest_difference(one, job.last_weights(self.run_folder(name))), 1e-5)


class ValuesTest(ModelsTest):
    def values(self, samples, seed):
        """Two values of six features, with a little noise."""
        stream = numpy.random.default_rng(seed)
        x = stream.normal(size=(samples, 6))
        y = numpy.stack([x[:, 0] * x[:, 1], x[:, 2] - x[:, 3]], axis=1) + 0.1 * stream.normal(size=(samples, 2))
        file = f"{seed}.npz"
        numpy.savez(self.folder / file, x=x, y=y)
        return {"format": "arrays", "features": file, "labels": file}

    def regression(self):
        return self.config({"train": self.values(2000, 1), "test": self.values(200, 2)},
                           {"type": "mlp", "hidden": [32]},
                           {"target": {"metric": "mse", "value": 0.1}, "max_epochs": 100}, loss={"type": "mse"})

    def test_values_are_learned(self):
        self.reaches_target(self.regression())

    def test_values_are_learned_in_reduced_precision(self):
        self.reaches_target(self.regression(), "--set", "compute.precision=bfloat16")


class ImagesTest(ModelsTest):
    def random_images(self, samples, seed):
        """A file of CIFAR-10's form."""
        stream = numpy.random.default_rng(seed)
        rows = stream.integers(0, 256, (samples, 1 + 3 * 32 * 32)).astype(numpy.uint8)
        rows[:, 0] %= 10
        (self.folder / f"{seed}.bin").write_bytes(rows.tobytes())
        return {"format": "cifar10", "files": [f"{seed}.bin"]}

    def test_raw_images_that_the_trainer_prepares_train_to_the_same_bits(self):
        data = {"train": self.random_images(96, 1), "test": self.random_images(16, 2), "classes": 10,
                "augment": {"flip": True, "crop_padding": 4},
                "normalise": {"mean": [0.49, 0.48, 0.45], "standard_deviation": [0.25, 0.24, 0.26]}}
        config = self.config(data, {"type": "cnn", "channels": [4], "dense": 8}, {"max_iterations": 6})
        weights = []
        for where in ("host", "device"):  # the device is the CPU here, too
            self.train(config, "--quiet", "--run", self.run_folder(where), "--set", f"compute.prepare_images={where}",
                       "--set", "device=cpu")
            weights.append(job.last_weights(self.run_folder(where)))
        self.assertEqual(*weights)


class OwnWeightsTest(ModelsTest):
    def images(self):
        split = {"format": "synthetic", "samples": 256, "feature_count": 12}
        return {"train": split, "test": {**split, "samples": 64, "first_sample": 256}, "classes": 5}

    def classifier(self, model):
        return self.config(self.images(), model, {"max_iterations": 20})

    def test_frozen_parameters_stay_through_a_resume_and_come_back(self):
        first, tuned = self.run_folder("first"), self.run_folder("tuned")
        start, result = self.folder / "start.safetensors", self.folder / "result.safetensors"
        self.train(self.classifier({"type": "mlp", "hidden": [16]}), "--quiet", "--run", first)
        self.export(first, start)
        config = self.classifier({"type": "mlp", "hidden": [16], "freeze": ["layers.0.*"],
                                  "start": {"weights": str(start), "except": ["layers.1.*"]}})
        self.train(config, "--quiet", "--run", tuned, "--set", "stop.max_iterations=10")
        self.train("--resume", tuned, "--quiet", "--set", "stop.max_iterations=20")
        self.export(tuned, result)
        before, after = job.read_safetensors(start), job.read_safetensors(result)
        self.assertEqual(before.keys(), after.keys())
        for name in before:
            self.assertEqual(before[name] == after[name], name.startswith("layers.0."), name)

        self.train(self.classifier({"type": "mlp", "hidden": [16]}), "--quiet", "--run", self.run_folder("other"),
                   "--set", "seed=7")
        self.export(self.run_folder("other"), start)
        output = self.train("--resume", tuned, "--set", "stop.max_iterations=30", check=2)
        self.assertIn("the frozen parameters are not those that this job was begun with", output)

    def test_a_plug_in_is_trained_and_its_version_is_checked(self):
        plugins = job.programs.parent / "test" / "plugins"
        config = self.classifier({"type": "plugin", "path": str(plugins / "libexample_plugin.so")})
        self.train(config, "--quiet", "--run", self.run_folder())
        self.assertIn("norm.num_batches_tracked:I64", job.last_weights(self.run_folder()))
        output = self.train(config, "--set", f"model.path={plugins / 'libother_plugin.so'}", check=2)
        self.assertIn("the plug-in was built against another version", output)
        self.assertIn("libother_plugin.so", output)

    def test_a_replaced_first_worker_has_the_buffers_of_one_that_is_left(self):
        """Batch normalisation counts its batches: a worker that began with buffers of its own would count from 0."""
        run, result = self.run_folder(), self.folder / "result.safetensors"
        plugin = job.programs.parent / "test" / "plugins" / "libexample_plugin.so"
        never = ["--set", "evaluation.every_epochs=100000", "--set", "checkpoint.every_epochs=100000"]
        process = self.start(self.classifier({"type": "plugin", "path": str(plugin)}), "--quiet", "--run", run, *never,
                             "--workers", 3, "--set", 'stop={"max_epochs": 1000000}')
        self.wait_for_event(run, "iterations", 5)
        pids = {event["index"]: event["pid"] for event in job.events(run, "process_started") if event["role"] == "worker"}
        os.kill(pids[0], signal.SIGKILL)
        memberships = self.wait_for_event(run, "membership", 3)
        self.assertEqual([event["indices"] for event in memberships], [[0, 1, 2], [1, 2], [0, 1, 2]])
        self.assertGreater(memberships[1]["first_iteration"], 5)
        self.wait_for_event(run, "iterations", len(job.trained(run)) + 3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=180)
        self.export(run, result)
        counted = int.from_bytes(job.read_safetensors(result)["norm.num_batches_tracked"], "little")
        # One less where the iteration in which it was killed was done, but not by those that are left.
        self.assertIn(job.events(run, "end")[-1]["iteration"] - counted, (0, 1))

    def test_weights_of_another_shape_are_bad_input(self):
        first, start = self.run_folder("first"), self.folder / "start.safetensors"
        self.train(self.classifier({"type": "mlp", "hidden": [16]}), "--quiet", "--run", first)
        self.export(first, start)
        config = self.classifier({"type": "mlp", "hidden": [24], "start": {"weights": str(start)}})
        output = self.train(config, "--run", self.run_folder("tuned"), check=2)
        for part in (str(start), "layers.0.weight", "worker "):
            self.assertIn(part, output)
        self.assertEqual(job.events(self.run_folder("tuned"), "iterations"), [])

    def export(self, run, file):
        job.run_program("scavenger-export", run, file, "--checkpoint", "last")


if __name__ == "__main__":
    job.main()
