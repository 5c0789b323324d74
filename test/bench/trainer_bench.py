"""Seconds per training iteration: trainer_bench against the same loop in eager PyTorch, in turns.

    .venv/bin/python test/bench/trainer_bench.py build/release/bench/trainer_bench [--threads 1] [--rounds 8]

Same model (test/unit/runtime/torch/models/reference_models.py), batch, threads and plain SGD step. Each takes its turn in a process of its own, so that both meet
the same neighbours. What counts is the ratio PyTorch / ours (above 1: ours is faster). On a busy machine wall time says
little; CPU seconds (of all threads, which at more than one count waiting too) say more there.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import time


sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit" / "runtime" / "torch" / "models"))


def dense():
    from torch import nn

    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def convolutional():
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip


def classification(model, shape, batch_size):
    import torch

    features = torch.randn(batch_size, *shape)
    labels = torch.randint(0, 10, (batch_size,))
    return model, lambda: torch.nn.functional.cross_entropy(model(features), labels)


def regression():
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 8))
    features, values = torch.randn(64, 64), torch.rand(64, 8)
    return model, lambda: torch.nn.functional.mse_loss(model(features), values)


def token_rows(rows, length, vocabulary, begins):
    """Of lengths from 2 to `length`, as random_batch.h makes them."""
    import torch

    tokens = torch.randint(4, vocabulary, (rows, length))
    lengths = torch.randint(2, length + 1, (rows, 1))
    lengths[0] = length
    place = torch.arange(length)
    tokens[place.expand(rows, -1) == lengths - 1] = 3
    tokens[place.expand(rows, -1) >= lengths] = 0
    if begins:
        tokens[:, 0] = 2
    return tokens


def translation(rows, width, heads, inner, layers, norm_first, dropout):
    import reference_models
    import torch

    model = reference_models.Transformer(4000, 6000, width, heads, inner, layers, norm_first, "target", dropout)
    source, target = token_rows(rows, 20, 4000, False), token_rows(rows, 22, 6000, True)

    def loss():
        return torch.nn.functional.cross_entropy(
            model(source, target).flatten(0, 1), target[:, 1:].flatten(), ignore_index=0, label_smoothing=0.1
        )

    return model, loss


def language():
    import reference_models
    import torch

    model = reference_models.LanguageModel(65, 64, 128, 4, 512, 4, dropout=0.1)
    tokens, following = token_rows(32, 64, 65, False), token_rows(32, 64, 65, False)

    def loss():
        return torch.nn.functional.cross_entropy(
            model(tokens).flatten(0, 1), following.flatten(), ignore_index=0
        )

    return model, loss


def make_peer(name):
    """A model, and its loss on a batch."""
    import reference_models

    if name == "mlp":
        return classification(dense(), (784,), 64)
    if name == "cnn":
        return classification(convolutional(), (3, 32, 32), 64)
    if name == "resnet18":
        return classification(reference_models.resnet18(), (3, 32, 32), 32)
    if name == "resnet34":
        return classification(reference_models.resnet34(), (3, 32, 32), 16)
    if name == "resnet50":
        return classification(reference_models.resnet50(), (3, 32, 32), 16)
    if name == "transformer_base":
        return translation(8, 512, 8, 2048, 6, False, 0.1)
    if name == "transformer_tiny":
        return translation(64, 256, 4, 512, 3, True, 0.3)
    return {"regressor": regression, "language_model": language}[name]()


def run_peer(model_name, threads, seconds):
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model, loss_of = make_peer(model_name)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    durations = []
    start = now = time.perf_counter()
    cpu_now = time.process_time()
    while now < start + seconds:
        optimizer.zero_grad()
        loss = loss_of()
        loss.item()
        loss.backward()
        optimizer.step()
        end, cpu_end = time.perf_counter(), time.process_time()
        durations.append((end - now, cpu_end - cpu_now))
        now, cpu_now = end, cpu_end
    for wall, cpu in durations:
        print(f"{wall:.9f} {cpu:.9f}")


def measure(command, model_name, threads, seconds):
    arguments = [*command, model_name, str(threads), str(seconds)]
    lines = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.splitlines()
    iterations = [tuple(map(float, line.split())) for line in lines]
    iterations = iterations[min(10, len(iterations) // 2) :]  # the first ones warm up
    return {
        "wall, median": statistics.median(wall for wall, _ in iterations),
        "wall, fastest": min(wall for wall, _ in iterations),
        "CPU, median": statistics.median(cpu for _, cpu in iterations),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--models", nargs="+", default=["mlp", "cnn"],
                        help="also regressor, resnet18, resnet34, resnet50, transformer_tiny, transformer_base, language_model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each turn")
    options = parser.parse_args()
    peer = [sys.executable, __file__, "--peer"]
    for model_name in options.models:
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(measure([options.binary], model_name, options.threads, options.seconds))
            theirs.append(measure(peer, model_name, options.threads, options.seconds))
        for what in ours[0]:
            a = statistics.median(round_[what] for round_ in ours)
            b = statistics.median(round_[what] for round_ in theirs)
            print(f"{model_name} threads={options.threads} {what:13}: "
                  f"ours {a * 1e3:.3f} ms, PyTorch {b * 1e3:.3f} ms, ratio {b / a:.3f}")  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        run_peer(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    else:
        main()
