"""The training loop of device_trainer in PyTorch, as fast as its documentation makes it: prints one JSON object.

    peer_loop.py resnet18 --device cuda --batch-size 512 --precision bfloat16 --channels-last --compile

Batches come from pinned memory, as ours do; the step is one fused kernel; the host waits only after each block.
"""

import argparse
import contextlib
import json
import pathlib
import sys
import time

import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE.parent / "unit" / "runtime" / "torch" / "models", HERE.parent / "bench"):
    sys.path.insert(0, str(folder))

import reference_models  # noqa: E402
import trainer_bench  # noqa: E402

BATCHES = 4
BLOCK = 10  # iterations between two looks at the clock
WARM_UP_BLOCKS = 2


class Images:
    def __init__(self, model, options, shape):
        self.model = model
        self.batches = [(torch.randn(options.batch_size, *shape), torch.randint(0, options.classes, (options.batch_size,)))
                        for _ in range(BATCHES)]

    def loss(self, features, labels):
        return nn.functional.cross_entropy(self.model(features), labels)


class Translation:
    def __init__(self, options, width, heads, inner, layers, norm_first, dropout):
        self.model = reference_models.Transformer(4000, 6000, width, heads, inner, layers, norm_first, "target", dropout)
        rows = options.batch_size
        self.batches = [(trainer_bench.token_rows(rows, 20, 4000, False), trainer_bench.token_rows(rows, 22, 6000, True))
                        for _ in range(BATCHES)]

    def loss(self, source, target):
        return nn.functional.cross_entropy(self.model(source, target).flatten(0, 1), target[:, 1:].flatten(), ignore_index=0,
                                           label_smoothing=0.1)


class Language:
    def __init__(self, options):
        self.model = reference_models.LanguageModel(65, 64, 128, 4, 512, 4, dropout=0.1)
        self.batches = [tuple(trainer_bench.token_rows(options.batch_size, 64, 65, False) for _ in range(2)) for _ in range(BATCHES)]

    def loss(self, tokens, following):
        return nn.functional.cross_entropy(self.model(tokens).flatten(0, 1), following.flatten(), ignore_index=0)


def make(options):
    size = options.image_size or 32
    name = options.model
    if name == "mlp":
        return Images(trainer_bench.dense(), options, (784,))
    if name == "cnn":
        return Images(trainer_bench.convolutional(), options, (3, 32, 32))
    if name in ("resnet18", "resnet34", "resnet50"):
        return Images(getattr(reference_models, name)(large_stem=size >= 64, classes=options.classes), options, (3, size, size))
    if name == "transformer_base":
        return Translation(options, 512, 8, 2048, 6, False, 0.1)
    if name == "transformer_tiny":
        return Translation(options, 256, 4, 512, 3, True, 0.3)
    if name == "language_model":
        return Language(options)
    raise SystemExit(f"peer_loop: there is no model {name}")


def products_of(options, device):
    """What computes matrix products in the wanted precision."""
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.precision == "tf32"
        torch.backends.cudnn.benchmark = options.tune_kernels
    reduced = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(options.precision)
    return (lambda: torch.autocast(device.type, reduced)) if reduced else contextlib.nullcontext


def train(options):
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    subject = make(options)
    subject.model.to(device)
    if options.channels_last:
        subject.model.to(memory_format=torch.channels_last)
    loss_of = torch.compile(subject.loss) if options.compile else subject.loss
    products = products_of(options, device)
    on_gpu = device.type == "cuda"
    scaler = torch.amp.GradScaler(device.type, enabled=options.precision == "float16")
    optimizer = torch.optim.SGD(subject.model.parameters(), lr=0.01, momentum=0.9, fused=True if on_gpu else None)
    batches = [tuple(tensor.pin_memory() if on_gpu else tensor for tensor in batch) for batch in subject.batches]
    seconds = []
    begin = time.perf_counter()
    blocks = 0
    traced = torch.profiler.profile() if options.trace else None
    while blocks <= WARM_UP_BLOCKS or time.perf_counter() < begin + options.seconds:
        if traced and blocks == WARM_UP_BLOCKS - 1:
            traced.start()
        start = time.perf_counter()
        for iteration in range(options.block):
            batch = [tensor.to(device, non_blocking=True) for tensor in batches[iteration % BATCHES]]
            if options.channels_last and batch[0].dim() == 4:
                batch[0] = batch[0].contiguous(memory_format=torch.channels_last)
            optimizer.zero_grad(set_to_none=True)
            with products():
                loss = loss_of(*batch)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        if on_gpu:
            torch.cuda.synchronize()
        blocks += 1
        if blocks > WARM_UP_BLOCKS:
            seconds.append((time.perf_counter() - start) / options.block)
        elif blocks == WARM_UP_BLOCKS:
            if traced:
                traced.stop()
                traced.export_chrome_trace(options.trace)
            begin = time.perf_counter()
    tokens = sum(int((tensor != 0).sum()) for tensor in batches[0]) if batches[0][0].dtype == torch.int64 else 0
    return {"samples": options.batch_size, "tokens": tokens, "seconds": seconds,
            "most_memory_bytes": torch.cuda.max_memory_allocated() if on_gpu else 0}


def measure_bus(options):
    """Bytes per second of copies between pinned memory and the device, each way."""
    device = torch.device(options.device)
    on_gpu = device.type == "cuda"
    host = torch.empty(options.bus_bytes // 4, pin_memory=on_gpu)
    there = torch.empty_like(host, device=device)
    rates = {}
    for name, to, of in (("to the device", there, host), ("to the host", host, there)):
        fastest = float("inf")
        for _ in range(10):
            start = time.perf_counter()
            to.copy_(of, non_blocking=True)
            if on_gpu:
                torch.cuda.synchronize()
            fastest = min(fastest, time.perf_counter() - start)
        rates[name] = host.numel() * 4 / fastest
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="or \"bus\": the speed of copies")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--image-size", type=int, default=0)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--precision", choices=["float32", "tf32", "bfloat16", "float16"], default="float32")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--tune-kernels", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--block", type=int, default=BLOCK)
    parser.add_argument("--trace", help="write here what the host and the device did in a block (chrome://tracing)")
    parser.add_argument("--bus-bytes", type=int, default=1 << 28)
    options = parser.parse_args()
    print(json.dumps(measure_bus(options) if options.model == "bus" else train(options)))


if __name__ == "__main__":
    main()
