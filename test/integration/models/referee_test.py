"""The referee: PyTorch, from the same initial weights, on the same batches, with its own optimizer, must have the same
weights after 20 iterations."""

import gzip
import importlib.util
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import job  # noqa: E402
import sample_order  # noqa: E402

ITERATIONS = 20
BATCH_SIZE = 96
HAS_TORCH = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("numpy") is not None
SGD = ["optimizer.type=sgd", "optimizer.learning_rate=0.05", "optimizer.momentum=0.9", "optimizer.weight_decay=0.001"]
NESTEROV = [*SGD, "optimizer.nesterov=true"]
ADAMW = ["optimizer.type=adamw", "optimizer.learning_rate=0.002", "optimizer.weight_decay=0.01",
         "optimizer.momentum=null"]
CNN = ['model={"type": "cnn", "channels": [8, 16], "dense": 32}']


def settings(values):
    return [word for value in values for word in ("--set", value)]


@unittest.skipUnless(HAS_TORCH, "PyTorch for Python is not installed")
@unittest.skipUnless(job.FASHION.exists(), "the package dataset-fashion-mnist is not installed")
class RefereeTest(job.JobTest):
    COMMON = ["--quiet", "--batch-size", BATCH_SIZE, *settings(
        ["stop.target=null", "optimizer.schedule=null", "model.hidden=[64, 32]", "evaluation.every_epochs=1000"])]

    def our_weights(self, name, workers, values):
        run = self.run_folder(name)
        self.train(job.CONFIGS / "fashion_mlp.json", "--run", run, "--workers", workers, *self.COMMON, *settings(values))
        return {key: tensor for key, tensor in load(job.checkpoints(run)[-1] / "weights.safetensors").items()}

    def initial_weights(self, model):
        # So small a rate changes no bit of any weight: what is written are the initial weights.
        return self.our_weights("initial", 1, [*model, "optimizer.learning_rate=1e-30", "optimizer.momentum=0",
                                               "stop.max_iterations=1"])

    def judge(self, optimizer, make_optimizer, model=(), tolerance=1e-5):
        import torch
        expected = {name: tensor.clone().requires_grad_() for name, tensor in self.initial_weights(model).items()}
        stepper = make_optimizer(torch.optim, list(expected.values()))
        for images, labels in batches():
            stepper.zero_grad()
            output = convolutional(expected, images) if model else dense(expected, images.flatten(1), "layers")
            torch.nn.functional.cross_entropy(output, labels).backward()
            stepper.step()
        for workers in (1, 2, 4):
            ours = self.our_weights(f"k{workers}", workers, [*model, *optimizer, f"stop.max_iterations={ITERATIONS}"])
            self.assertEqual(set(ours), set(expected))
            for name in expected:
                difference = (ours[name] - expected[name].detach()).abs().max().item()
                self.assertLess(difference, tolerance, f"{name} with K = {workers}")

    def test_sgd_with_momentum(self):
        self.judge(SGD, lambda optim, weights: optim.SGD(weights, lr=0.05, momentum=0.9, weight_decay=0.001))

    def test_nesterov(self):
        self.judge(NESTEROV, lambda optim, weights: optim.SGD(weights, lr=0.05, momentum=0.9, weight_decay=0.001,
                                                              nesterov=True))

    def test_adamw(self):
        self.judge(ADAMW, lambda optim, weights: optim.AdamW(weights, lr=0.002, weight_decay=0.01))

    def test_sgd_on_the_convolutional_network(self):
        self.judge(SGD, lambda optim, weights: optim.SGD(weights, lr=0.05, momentum=0.9, weight_decay=0.001),
                   model=[*CNN, "model.hidden=null"])


def load(path):
    """A safetensors file of floats, read without the package."""
    import json
    import torch
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    tensors = {}
    for name, entry in json.loads(content[8:8 + length]).items():
        if name == "__metadata__":
            continue
        first, last = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = torch.frombuffer(bytearray(content[first:last]), dtype=torch.float32).reshape(entry["shape"])
    return tensors


def batches():
    import numpy
    import torch
    images = numpy.frombuffer(gzip.open(job.FASHION / "train-images-idx3-ubyte.gz").read(), numpy.uint8, offset=16)
    labels = numpy.frombuffer(gzip.open(job.FASHION / "train-labels-idx1-ubyte.gz").read(), numpy.uint8, offset=8)
    images = images.reshape(-1, 1, 28, 28)
    order = sample_order.epoch_order(1, 0, len(labels))
    for iteration in range(ITERATIONS):
        chosen = order[iteration * BATCH_SIZE:(iteration + 1) * BATCH_SIZE]
        pixels = torch.from_numpy(images[chosen].astype(numpy.float32)) / 255
        yield (pixels - 0.286) / 0.353, torch.from_numpy(labels[chosen].astype(numpy.int64))


def dense(weights, x, prefix):
    import torch
    layers = sorted({name.rsplit(".", 1)[0] for name in weights if name.startswith(prefix)},
                    key=lambda name: int(name.rsplit(".", 1)[1]))
    for i, layer in enumerate(layers):
        x = torch.nn.functional.linear(x, weights[f"{layer}.weight"], weights[f"{layer}.bias"])
        if i + 1 < len(layers):
            x = x.relu()
    return x


def convolutional(weights, x):
    import torch
    names = list(weights)
    convolutions = [name for name in names if name.endswith(".weight") and weights[name].dim() == 4]
    for name in convolutions:
        x = torch.nn.functional.conv2d(x, weights[name], weights[name.replace(".weight", ".bias")], padding=1)
        x = torch.nn.functional.max_pool2d(x.relu(), 2)
    x = x.flatten(1)
    matrices = [name for name in names if name.endswith(".weight") and weights[name].dim() == 2]
    for i, name in enumerate(matrices):
        x = torch.nn.functional.linear(x, weights[name], weights[name.replace(".weight", ".bias")])
        if i + 1 < len(matrices):
            x = x.relu()
    return x


if __name__ == "__main__":
    job.main()
