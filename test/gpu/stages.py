"""The stages of gpu_check.py that need one process: tests, equality, throughput, copies.

A stage is a list of cases, (name, function). A function gets the Surroundings and returns (values, checks). Limits of
equality must hold. Speeds are targets, and are judged on a GPU only.
"""

import array
import itertools
import statistics

from running import CaseFailed
from stage_log import Check

UNIT_TESTS = ["device_test", "model_trainer_test", "torch_trainer_test", "transformer_test", "objective_test", "fine_tuning_test"]


def median(values):
    return statistics.median(values)


def steady(seconds):
    """Without the first ones, which warm up."""
    return seconds[min(5, len(seconds) // 2):]


# ---- Unit tests. ----

def unit_test(name):
    def case(around):
        output = around.run([around.build / "test" / name], {"SCAVENGER_TEST_DEVICE": around.device}, seconds=240)
        return {"said": output.strip().splitlines()[-1]}, []
    return name, case


def tests(around):
    return [unit_test(name) for name in UNIT_TESTS[:1 if around.is_small else None]]


# ---- Equality. ----

def floats_of(path):
    values = array.array("f")
    values.frombytes(path.read_bytes())
    return values


def largest_difference(one, other):
    try:
        import torch
    except ImportError:
        return max(abs(a - b) for a, b in zip(floats_of(one), floats_of(other)))
    tensors = [torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.float32) for path in (one, other)]
    return float((tensors[0] - tensors[1]).abs().max())


def equality_case(model, batch_size, precision, vectors):
    def case(around):
        iterations = 3 if around.is_small else 20
        common = ["--iterations", iterations, "--batch-size", batch_size]
        runs, files = [], []
        for device, options in (("cpu", []), (around.device, ["--precision", precision, "--vectors", vectors, "--ahead"])):
            files.append(around.folder / f"weights_{len(files)}")
            runs.append(around.ours(model, *common, *options, "--weights", files[-1], device=device))
        losses = list(zip(runs[0]["losses"], runs[1]["losses"]))
        loss = max(abs(a - b) / max(abs(a), 1e-9) for a, b in losses)
        weights = largest_difference(*files)
        values = {"largest relative difference of losses": loss, "largest difference of weights": weights}
        if precision != "float32":
            return values, []
        return values, [Check("difference of losses", loss, 1e-3), Check("difference of weights", weights, 1e-4)]
    return f"{model}, {precision}, vectors on the {vectors}", case


def equality(around):
    sizes = {"mlp": 16} if around.is_small else {"mlp": 64, "cnn": 64, "resnet18": 32, "transformer_tiny": 32}
    exact = [equality_case(model, size, "float32", vectors) for model, size in sizes.items() for vectors in ("host", "device")]
    # For information: what the other precisions do to the result.
    others = [equality_case(model, size, precision, "host") for model, size in sizes.items()
              for precision in (["float16"] if around.is_small else ["tf32", "bfloat16", "float16"])
              if not (precision == "tf32" and around.device == "cpu")]
    return exact + others


# ---- Throughput. ----

def contestants(around, is_convolutional):
    """Label -> (whether ours, options)."""
    order = ["--channels-last"] if is_convolutional else []
    found = {"ours float32": (True, ["--vectors", "device"]),
             "PyTorch float32": (False, []),
             "ours bfloat16": (True, ["--vectors", "device", "--precision", "bfloat16"]),
             "ours bfloat16, tuned": (True, ["--vectors", "device", "--precision", "bfloat16", "--tune-kernels"]),
             "ours bfloat16, vectors on the host": (True, ["--vectors", "host", "--precision", "bfloat16", "--ahead"]),
             "PyTorch bfloat16": (False, ["--precision", "bfloat16", *order]),
             "PyTorch bfloat16, compiled": (False, ["--precision", "bfloat16", "--compile", "--tune-kernels", *order])}
    if around.device != "cpu":
        found["ours tf32"] = (True, ["--vectors", "device", "--precision", "tf32"])
        found["PyTorch tf32"] = (False, ["--precision", "tf32", *order])
    if around.is_small:
        found = {label: found[label] for label in ("ours float32", "PyTorch float32")}
    return found


def throughput_case(model, batch_size, unit, target, extra=()):
    def case(around):
        seconds, rounds = (0.1, 1) if around.is_small else (4.0, 2)
        rates, refusals = {}, {}
        for _, (label, (is_ours, options)) in itertools.product(range(rounds), contestants(around, unit == "samples").items()):
            run = around.ours if is_ours else around.pytorch
            try:
                done = run(model, "--batch-size", batch_size, "--seconds", seconds, *extra, *options)
            except CaseFailed as reason:
                if is_ours or "compile" not in label:
                    raise
                refusals[label] = str(reason).splitlines()[-1]  # there may be no C compiler, which torch.compile needs
                continue
            rates.setdefault(label, []).append(done[unit] / median(steady(done["seconds"])))
        values = {f"{label}: {unit} a second": median(rate) for label, rate in rates.items()}
        values.update({f"{label}: could not run": reason for label, reason in refusals.items()})
        best = {side: max(median(rate) for label, rate in rates.items() if label.startswith(side)) for side in ("ours", "PyTorch")}
        values["ours / PyTorch, the best of each"] = best["ours"] / best["PyTorch"]
        judged = around.device != "cpu" and target is not None
        return values, [Check("ours / PyTorch's best", best["ours"] / best["PyTorch"], target, at_least=True, is_target=True)] if judged else []
    return f"{model}, B = {batch_size}", case


def resnet18(around):
    return [throughput_case("resnet18", size, "samples", 1.0) for size in ([4] if around.is_small else [128, 512, 1024])]


def resnet50(around):
    if around.is_small:
        return [throughput_case("resnet50", 2, "samples", 0.95, ["--image-size", 64, "--classes", 10])]
    return [throughput_case("resnet50", size, "samples", 0.95, ["--image-size", 224, "--classes", 1000]) for size in (64, 256)]


def transformers(around):
    cases = [("transformer_tiny", 4)] if around.is_small else [("transformer_base", 128), ("language_model", 512)]
    return [throughput_case(model, size, "tokens", 0.95) for model, size in cases]


# ---- Copies. ----

def copies_case(around):
    """Weights to the device and gradients back, as the parameter server's workers do it, beside the bus alone."""
    hidden = ["--hidden", 256, 256] if around.is_small else ["--hidden", 4096, 4096, 4096, 4096]
    iterations = ["--iterations", 5 if around.is_small else 60, "--batch-size", 16]
    host = around.ours("mlp", *hidden, *iterations, "--vectors", "host")
    there = around.ours("mlp", *hidden, *iterations, "--vectors", "device")
    moved = host["flat_bytes"]
    bus = around.pytorch("bus", "--bus-bytes", max(moved, 1 << 20))
    extra = median(steady(host["pass_seconds"])) - median(steady(there["pass_seconds"]))
    least = moved / bus["to the device"] + moved / bus["to the host"]
    values = {"bytes each way": moved, "seconds of both ways, beyond the pass": extra, "seconds of both ways, the bus alone": least,
              **{f"bus {way}: bytes a second": rate for way, rate in bus.items()}}
    judged = around.device != "cpu" and extra > 0
    return values, [Check("the bus alone / ours", least / extra, 0.8, at_least=True, is_target=True)] if judged else []


def copies(_):
    return [("weights and gradients of an MLP", copies_case)]
