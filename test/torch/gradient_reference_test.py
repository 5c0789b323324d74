"""The trainer's gradients against PyTorch modules with the same weights and the same batch.

    gradient_reference_test.py path/to/gradient_dump
"""

import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    from torch import nn
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TOLERANCE = 1e-6


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(63, 33), nn.Linear(33, 20), nn.Linear(20, 10)])

    def forward(self, x):
        x = self.layers[0](x.flatten(1))
        for layer in self.layers[1:]:
            x = layer(torch.relu(x))
        return x


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolutions = nn.ModuleList([nn.Conv2d(3, 5, 3, padding=1), nn.Conv2d(5, 12, 3, padding=1)])
        self.dense = nn.ModuleList([nn.Linear(12 * 3 * 3, 17), nn.Linear(17, 10)])

    def forward(self, x):
        for convolution in self.convolutions:
            x = torch.max_pool2d(torch.relu(convolution(x)), 2)
        return self.dense[1](torch.relu(self.dense[0](x.flatten(1))))


def read(folder, name, dtype=numpy.float32):
    return torch.from_numpy(numpy.fromfile(folder / f"{name}.bin", dtype=dtype))


def tensors_of(layout, flat):
    result = {}
    for tensor in layout["tensors"]:
        size = int(numpy.prod(tensor["shape"]))
        result[tensor["name"]] = flat[tensor["offset"] : tensor["offset"] + size].view(tensor["shape"])
    return result


def check(model_name, model, dump):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([dump, model_name, name], check=True)
        layout = json.loads((folder / "layout.json").read_text())
        weights = tensors_of(layout, read(folder, "weights"))
        gradients = tensors_of(layout, read(folder, "gradients"))
        features = read(folder, "features").view(layout["batch_size"], *layout["sample_shape"])
        labels = read(folder, "labels", numpy.int64)

    assert list(weights) == [name for name, _ in model.named_parameters()], "names and order"
    model.load_state_dict(weights, strict=True)
    logits = model(features)
    loss = nn.functional.cross_entropy(logits, labels)
    loss.backward()

    for name, parameter in model.named_parameters():
        difference = (parameter.grad - gradients[name]).abs().max().item()
        scale = parameter.grad.abs().max().item()
        print(f"{model_name} {name}: largest gradient {scale:.3g}, largest difference {difference:.3g}")
        assert scale > 1e-4, "a gradient that is all zero would prove nothing"
        assert difference <= TOLERANCE
    mean_loss = layout["loss_sum"] / layout["batch_size"]
    assert abs(mean_loss - loss.item()) <= TOLERANCE
    assert abs(layout["evaluation_loss"] / layout["batch_size"] - loss.item()) <= TOLERANCE
    assert layout["correct"] == (logits.argmax(1) == labels).sum().item()


if __name__ == "__main__":
    check("mlp", Mlp(), sys.argv[1])
    check("cnn", Cnn(), sys.argv[1])
