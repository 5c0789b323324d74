"""Seconds per training iteration: trainer_bench against the same loop in eager PyTorch, in turns.

    .venv/bin/python test/bench/trainer_bench.py build/release/bench/trainer_bench [--threads 1] [--rounds 8]

Same model, batch of 64 (resnet18: 32), threads and plain SGD step. Each takes its turn in a process of its own, so that both meet
the same neighbours. What counts is the ratio PyTorch / ours (above 1: ours is faster). On a busy machine wall time says
little; CPU seconds (of all threads, which at more than one count waiting too) say more there.
"""

import argparse
import statistics
import subprocess
import sys
import time


def resnet18():
    """The form for 32 x 32 images (He et al., 2016)."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.inner = nn.Sequential(
                nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
                nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs),
            )  # fmt: skip
            same = stride == 1 and inputs == outputs
            self.shortcut = nn.Identity() if same else nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )  # fmt: skip

        def forward(self, x):
            return torch.relu_(self.inner(x) + self.shortcut(x))

    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(inputs, outputs, stride), Block(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def run_peer(model_name, threads, seconds):
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    batch_size = 32 if model_name == "resnet18" else 64
    if model_name == "mlp":
        shape = (784,)
        model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    elif model_name == "resnet18":
        shape = (3, 32, 32)
        model = resnet18()
    else:
        shape = (3, 32, 32)
        model = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(64 * 8 * 8, 128), nn.ReLU(), nn.Linear(128, 10),
        )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()
    features = torch.randn(batch_size, *shape)
    labels = torch.randint(0, 10, (batch_size,))
    durations = []
    start = now = time.perf_counter()
    cpu_now = time.process_time()
    while now < start + seconds:
        optimizer.zero_grad()
        loss = loss_of(model(features), labels)
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
    parser.add_argument("--models", nargs="+", default=["mlp", "cnn"])
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
