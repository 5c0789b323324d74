"""The trainer's gradients, buffers and metrics against PyTorch modules with the same weights and the same batch.

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

TOLERANCE = 1e-6  # relative to the largest value of the tensor, or to 1 where that is larger


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


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(inner + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1 = nn.Sequential(BasicBlock(64, 64, 1), BasicBlock(64, 64, 1))
        self.layer2 = nn.Sequential(BasicBlock(64, 128, 2), BasicBlock(128, 128, 1))
        self.layer3 = nn.Sequential(BasicBlock(128, 256, 2), BasicBlock(256, 256, 1))
        self.layer4 = nn.Sequential(BasicBlock(256, 512, 2), BasicBlock(512, 512, 1))
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def read(folder, name, dtype=numpy.float32):
    return torch.from_numpy(numpy.fromfile(folder / f"{name}.bin", dtype=dtype))


def tensors_of(places, flat):
    result = {}
    for tensor in places:
        size = int(numpy.prod(tensor["shape"]))
        result[tensor["name"]] = flat[tensor["offset"] : tensor["offset"] + size].view(tensor["shape"])
    return result


def check(model_name, model, dump):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([dump, model_name, name], check=True)
        layout = json.loads((folder / "layout.json").read_text())
        weights = tensors_of(layout["tensors"], read(folder, "weights"))
        gradients = tensors_of(layout["tensors"], read(folder, "gradients"))
        before = tensors_of(layout["buffers"], read(folder, "buffers_before"))
        after = tensors_of(layout["buffers"], read(folder, "buffers_after"))
        features = read(folder, "features").view(layout["batch_size"], *layout["sample_shape"])
        labels = read(folder, "labels", numpy.int64)

    assert list(weights) == [name for name, _ in model.named_parameters()], "names and order"
    buffers = {name: value for name, value in model.named_buffers() if not name.endswith("num_batches_tracked")}
    assert list(before) == list(buffers), "names and order of the buffers"
    unused = model.load_state_dict({**weights, **before}, strict=False)
    assert not unused.unexpected_keys and all(name.endswith("num_batches_tracked") for name in unused.missing_keys)
    logits = model(features)
    loss = nn.functional.cross_entropy(logits, labels)
    loss.backward()

    for name, parameter in model.named_parameters():
        difference = (parameter.grad - gradients[name]).abs().max().item()
        scale = parameter.grad.abs().max().item()
        print(f"{model_name} {name}: largest gradient {scale:.3g}, largest difference {difference:.3g}")
        assert scale > 1e-4, "a gradient that is all zero would prove nothing"
        assert difference <= TOLERANCE * max(1, scale)
    for name, value in buffers.items():
        difference = (value - after[name]).abs().max().item()
        print(f"{model_name} {name}: largest difference {difference:.3g}")
        assert difference <= TOLERANCE * max(1, value.abs().max().item())
        assert not torch.equal(after[name], before[name]), "a buffer that stays would prove nothing"
    mean_loss = layout["loss_sum"] / layout["batch_size"]
    assert abs(mean_loss - loss.item()) <= TOLERANCE
    model.eval()
    logits = model(features)
    evaluation_loss = nn.functional.cross_entropy(logits, labels).item()
    assert abs(layout["evaluation_loss"] / layout["batch_size"] - evaluation_loss) <= TOLERANCE * max(1, evaluation_loss)
    assert layout["correct"] == (logits.argmax(1) == labels).sum().item()


if __name__ == "__main__":
    check("mlp", Mlp(), sys.argv[1])
    check("cnn", Cnn(), sys.argv[1])
    check("resnet18", ResNet18(), sys.argv[1])
