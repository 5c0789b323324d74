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

    import reference_models as models
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TOLERANCE = 1e-6  # relative to the largest value of the tensor, or to 1 where that is larger


class Labels:
    """One label per sample."""

    @staticmethod
    def predictions(model, batch):
        return model(batch["features"]), batch["labels"]

    @staticmethod
    def loss(predictions, labels, reduction):
        return nn.functional.cross_entropy(predictions, labels, reduction=reduction)


class Values:
    """Numbers to be met."""

    def __init__(self, loss):
        self.loss = lambda predictions, values, reduction: loss(predictions, values, reduction=reduction)

    @staticmethod
    def predictions(model, batch):
        return model(batch["features"]).view(batch["values"].shape), batch["values"]


class NextTokens:
    """For each token the next one."""

    label_smoothing = 0.0

    def loss(self, predictions, labels, reduction):
        return nn.functional.cross_entropy(
            predictions, labels, reduction=reduction, label_smoothing=self.label_smoothing
        )

    @staticmethod
    def predictions(model, batch):
        wanted = batch["labels"] != 0
        return model(batch["tokens"])[wanted], batch["labels"][wanted]


class Sequence(NextTokens):
    """A sequence from another."""

    label_smoothing = 0.1

    @staticmethod
    def predictions(model, batch):
        wanted = batch["labels"][:, 1:] != 0
        return model(batch["tokens"], batch["labels"])[wanted], batch["labels"][:, 1:][wanted]


def transformer(pre_norm, shared):
    return models.Transformer(19, 19 if shared == "all" else 23, 16, 4, 24, 2, pre_norm, shared)


MODELS = {
    "mlp": (models.Mlp, Labels()),
    "mlp_tanh": (lambda: models.Mlp(activation=torch.tanh), Labels()),
    "mlp_mse": (models.Mlp, Values(nn.functional.mse_loss)),
    "mlp_l1": (models.Mlp, Values(nn.functional.l1_loss)),
    "mlp_bce": (models.Mlp, Values(nn.functional.binary_cross_entropy_with_logits)),
    "cnn": (models.Cnn, Labels()),
    "resnet18": (models.resnet18, Labels()),
    "resnet18_imagenet": (lambda: models.resnet18(large_stem=True), Labels()),
    "resnet50": (models.resnet50, Labels()),
    "transformer": (lambda: transformer(False, "target"), Sequence()),
    "transformer_pre_norm": (lambda: transformer(True, "all"), Sequence()),
    "transformer_unshared": (lambda: transformer(True, "none"), Sequence()),
    "language_model": (lambda: models.LanguageModel(19, 8, 16, 2, 24, 2), NextTokens()),
}


def read(folder, name, dtype=numpy.float32):
    return torch.from_numpy(numpy.fromfile(folder / f"{name}.bin", dtype=dtype))


def tensors_of(places, flat):
    result = {}
    for tensor in places:
        size = int(numpy.prod(tensor["shape"]))
        result[tensor["name"]] = flat[tensor["offset"] : tensor["offset"] + size].view(tensor["shape"])
    return result


def read_batch(folder, layout):
    kinds = [("features", "sample_shape", numpy.float32), ("tokens", "sample_shape", numpy.int64),
             ("labels", "target_shape", numpy.int64), ("values", "target_shape", numpy.float32)]
    batch = {}
    for name, shape, dtype in kinds:
        values = read(folder, name, dtype)
        if len(values) > 0:
            batch[name] = values.view(layout["batch_size"], *(layout[shape] or []))
    return batch


def in_faster_order(convolution, arguments):
    """What runtime/torch/layers/layers.cpp does before a convolution: the sums are then the same to the last bit."""
    (x,) = arguments
    channels_last = x.numel() > convolution.weight.numel()
    return x.contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)


def is_close(found, expected):
    return abs(found - expected) <= TOLERANCE * max(1, abs(expected))


def check(model_name, dump):
    make_model, objective = MODELS[model_name]
    model = make_model()
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            module.register_forward_pre_hook(in_faster_order)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([dump, model_name, name], check=True)
        layout = json.loads((folder / "layout.json").read_text())
        weights = tensors_of(layout["tensors"], read(folder, "weights"))
        gradients = tensors_of(layout["tensors"], read(folder, "gradients"))
        before = tensors_of(layout["buffers"], read(folder, "buffers_before"))
        after = tensors_of(layout["buffers"], read(folder, "buffers_after"))
        batch = read_batch(folder, layout)

    assert list(weights) == [name for name, _ in model.named_parameters()], "names and order"
    buffers = {name: value for name, value in model.named_buffers() if not name.endswith("num_batches_tracked")}
    assert list(before) == list(buffers), "names and order of the buffers"
    unused = model.load_state_dict({**weights, **before}, strict=False)
    assert not unused.unexpected_keys and all(name.endswith("num_batches_tracked") for name in unused.missing_keys)
    predictions, targets = objective.predictions(model, batch)
    loss = objective.loss(predictions, targets, "sum") / (layout["batch_size"] * layout["loss_terms"])
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
    assert is_close(layout["loss_sum"] / layout["batch_size"], loss.item())
    check_evaluation(model, objective, batch, layout)


@torch.no_grad()
def check_evaluation(model, objective, batch, layout):
    model.eval()
    predictions, targets = objective.predictions(model, batch)
    count = targets.numel()
    assert layout["predictions"] == count
    assert is_close(layout["evaluation_loss"] / count, objective.loss(predictions, targets, "mean").item())
    if isinstance(objective, Values):
        assert is_close(layout["squared_error"], nn.functional.mse_loss(predictions, targets, reduction="sum").item())
        return
    assert layout["correct"] == (predictions.argmax(1) == targets).sum().item()
    likelihood = nn.functional.cross_entropy(predictions, targets).item()
    assert is_close(layout["negative_log_likelihood"] / count, likelihood)


if __name__ == "__main__":
    torch.set_num_threads(1)  # as the dump: ResNet50 magnifies another order of sums to 1 % of its first layer's gradient
    for name in MODELS:
        check(name, sys.argv[1])
