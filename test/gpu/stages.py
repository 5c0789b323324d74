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


# With the usual rate, differences of the last bit grow a thousandfold in five iterations of a ResNet: two runs on one CPU
# that differ in the order of sums are as far apart after 20 as CPU and GPU are (docs/results/gpus.md).
SMALL_RATES = {"resnet18": ["--learning-rate", "1e-4"]}


def equality_case(model, batch_size, precision, vectors):
    def case(around):
        iterations = 3 if around.is_small else 20
        common = ["--iterations", iterations, "--batch-size", batch_size, *SMALL_RATES.get(model, [])]
        runs, files = [], []
        for device, options in (("cpu", []), (around.device, ["--precision", precision, "--vectors", vectors, "--ahead"])):
            files.append(around.folder / f"weights_{len(files)}")
            runs.append(around.ours(model, *common, *options, "--weights", files[-1], device=device))
        losses = list(zip(runs[0]["losses"], runs[1]["losses"]))
        loss = max(abs(a - b) / max(abs(a), 1e-9) for a, b in losses)
        weights = largest_difference(*files)
        norms = max(abs(a - b) / max(abs(a), 1e-9) for a, b in zip(runs[0]["sqr_norms"], runs[1]["sqr_norms"]))
        if not len(runs[0]["sqr_norms"]) == len(runs[1]["sqr_norms"]) == iterations:
            raise CaseFailed("an iteration has no norm, or two")
        values = {"largest relative difference of losses": loss, "largest relative difference of squared norms": norms,
                  "largest difference of weights": weights}
        if precision != "float32":
            return values, []
        return values, [Check("difference of losses", loss, 1e-3), Check("difference of squared norms", norms, 1e-2),
                        Check("difference of weights", weights, 1e-4)]
    return f"{model}, {precision}, vectors on the {vectors}", case


def equality(around):
    sizes = {"mlp": 16} if around.is_small else {"mlp": 64, "cnn": 64, "resnet18": 32, "transformer_tiny": 32}
    exact = [equality_case(model, size, "float32", vectors) for model, size in sizes.items() for vectors in ("host", "device")]
    # For information: what the other precisions do to the result.
    others = [equality_case(model, size, precision, "host") for model, size in sizes.items()
              for precision in (["float16"] if around.is_small else ["tf32", "bfloat16", "float16"])
              if not (precision == "tf32" and around.device == "cpu")]
    images = [images_case("cnn", 16 if around.is_small else 64)]
    fetched = [fetch_case("mlp", 16)] if around.is_small else [fetch_case("mlp", 64), fetch_case("resnet18", 32)]
    return exact + images + fetched + others


def runs_are_equal(around, model, common, one, other, device_of_one=None):
    """(values, checks, the runs) of two runs of device_trainer that should compute the same."""
    runs, files = [], []
    for device, options in ((device_of_one or around.device, one), (around.device, other)):
        files.append(around.folder / f"weights_{len(files)}")
        runs.append(around.ours(model, *common, *options, "--weights", files[-1], device=device))
    loss = max(abs(a - b) / max(abs(a), 1e-9) for a, b in zip(*(run["losses"] for run in runs)))
    weights = largest_difference(*files)
    values = {"largest relative difference of losses": loss, "largest difference of weights": weights}
    return values, [Check("difference of losses", loss, 1e-3), Check("difference of weights", weights, 1e-4)], runs


def images_case(model, batch_size):
    """Raw bytes that the device crops, mirrors and normalises, beside the same pixel by pixel on the CPU."""
    def case(around):
        common = ["--iterations", 3 if around.is_small else 20, "--batch-size", batch_size]
        values, checks, _ = runs_are_equal(around, model, common, ["--images", "host"],
                                           ["--images", "device", "--ahead"], device_of_one="cpu")
        return values, checks
    return f"{model}, images prepared on the device", case


def fetch_case(model, batch_size):
    """Weights that go to the device chunk by chunk, as they are stepped, beside all of them before a pass."""
    def case(around):
        common = ["--iterations", 3 if around.is_small else 20, "--batch-size", batch_size, "--vectors", "host",
                  *SMALL_RATES.get(model, [])]
        values, checks, _ = runs_are_equal(around, model, common, [], ["--fetch"])
        return values, checks
    return f"{model}, weights fetched chunk by chunk", case


# ---- CUDA graphs. ----

def graph_case(model, batch_size, vectors):
    """The same passes kernel by kernel and as graphs: equal results, and what a graph gains."""
    def case(around):
        count = 5 if around.is_small else 20
        common = ["--batch-size", batch_size, "--vectors", vectors, "--ahead"]
        values, checks, runs = runs_are_equal(around, model, [*common, "--iterations", count], ["--no-cuda-graphs"], [])
        values["graphs"] = runs[1]["graphs"]
        values["what the user was told"] = "; ".join(runs[1]["told"]) or "nothing"
        seconds = 0.1 if around.is_small else 3.0
        timed = [around.ours(model, *common, "--precision", "float32" if around.is_small else "bfloat16", "--seconds", seconds, *more)
                 for more in (["--no-cuda-graphs"], [])]
        times = [median(steady(run["seconds"])) for run in timed]
        values["kernel by kernel: seconds"], values["as graphs: seconds"] = times
        values["kernel by kernel / as graphs"] = times[0] / times[1]
        if around.device == "cpu":
            return values, checks
        return values, [*checks, Check("graphs that were recorded", float(runs[1]["graphs"]), 1.0, at_least=True),
                        Check("kernel by kernel / as graphs", times[0] / times[1], 1.0, at_least=True, is_target=True)]
    return f"{model}, B = {batch_size}, vectors on the {vectors}", case


def graphs(around):
    if around.is_small:
        return [graph_case("mlp", 16, "host")]
    return [graph_case(model, size, vectors) for vectors in ("host", "device")
            for model, size in (("mlp", 64), ("resnet18", 32), ("resnet18", 128), ("language_model", 16))]


# ---- Memory. ----

def memory_case(model, batch_size):
    def case(around):
        done = around.ours(model, "--batch-size", batch_size, "--iterations", 3)
        used, reserved, there = done["most_used_bytes"], done["most_reserved_bytes"], done["device_bytes"]
        values = {"bytes in tensors, at most": used, "bytes reserved, at most": reserved, "bytes of the device": there,
                  "bytes of a sample": done["bytes_per_sample"]}
        if around.device == "cpu":
            return values, []
        return values, [Check("bytes in tensors", float(used), 1.0, at_least=True),
                        Check("bytes in tensors / reserved", used / max(reserved, 1), 1.0),
                        Check("bytes reserved / of the device", reserved / max(there, 1), 1.0)]
    return f"{model}, B = {batch_size}", case


def too_large_case(around):
    """A batch for which there is no room: it is halved, and one sentence each time says so."""
    if around.device == "cpu":  # where the room is measured before a pass
        return {"not on the CPU": 1}, []
    done = around.ours("resnet18", "--batch-size", 65536, "--iterations", 2)
    told = [sentence for sentence in done["told"] if "no memory for a pass" in sentence]
    return {"what the user was told": "; ".join(told)}, [Check("sentences", float(len(told)), 1.0, at_least=True)]


def memory(around):
    sizes = [("mlp", 16)] if around.is_small else [("resnet18", 128), ("resnet18", 512), ("transformer_base", 64)]
    return [*(memory_case(*size) for size in sizes), ("a batch that is too large", too_large_case)]


# ---- Throughput. ----

OURS = ["--ahead", "--tune-kernels", "--vectors"]
THEIRS = ["--precision", "bfloat16", "--tune-kernels"]
CONTESTANTS = {  # label -> (whether ours, options)
    "ours float32": (True, [*OURS, "device"]),
    "PyTorch float32": (False, ["--tune-kernels"]),
    "ours bfloat16": (True, [*OURS, "device", "--precision", "bfloat16"]),
    "ours bfloat16, without CUDA graphs": (True, [*OURS, "device", "--precision", "bfloat16", "--no-cuda-graphs"]),
    "ours bfloat16, vectors on the host": (True, [*OURS, "host", "--precision", "bfloat16", "--fetch"]),
    "PyTorch bfloat16": (False, THEIRS),
    "PyTorch bfloat16, compiled": (False, [*THEIRS, "--compile"])}
SMALL_CONTESTANTS = ["ours float32", "PyTorch float32"]


def contestants(around, is_convolutional):
    """Those of CONTESTANTS that take part. PyTorch computes images in bfloat16 faster with channels last."""
    labels = SMALL_CONTESTANTS if around.is_small else around.contestants
    if {CONTESTANTS[label][0] for label in labels} != {True, False}:
        raise CaseFailed("name one of ours and one of PyTorch's at least")
    order = ["--channels-last"] if is_convolutional else []
    return {label: (is_ours, options + (order if "bfloat16" in label and not is_ours else []))
            for label, (is_ours, options) in CONTESTANTS.items() if label in labels}


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
    for name, options in (("weights fetched chunk by chunk", ["--fetch"]), ("as bfloat16", ["--transport-bfloat16"])):
        other = around.ours("mlp", *hidden, *iterations, "--vectors", "host", *options)
        values[f"seconds of both ways, beyond the pass, {name}"] = median(steady(other["pass_seconds"])) - median(
            steady(there["pass_seconds"]))
    judged = around.device != "cpu" and extra > 0
    return values, [Check("the bus alone / ours", least / extra, 0.8, at_least=True, is_target=True)] if judged else []


def copies(_):
    return [("weights and gradients of an MLP", copies_case)]
