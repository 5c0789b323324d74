"""The peer of checkpoint_bench.py: a plain PyTorch loop that saves its state every so many iterations; a crew's process.

    torch_save_worker.py HIDDEN HIDDEN BATCH EVERY FOLDER

"run N" makes N checkpoints and answers with the seconds that each took.
"""

import json
import os
import pathlib
import sys
import time

import torch
from torch import nn


class Job:
    def __init__(self, first, second, batch, every, folder):
        self.model = nn.Sequential(nn.Linear(784, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU(),
                                   nn.Linear(second, 10))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)
        self.features = torch.randn(batch, 784)
        self.labels = torch.randint(0, 10, (batch,))
        self.every = every
        self.path = pathlib.Path(folder) / "checkpoint.pt"

    def iterate(self):
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(self.features), self.labels).backward()
        self.optimizer.step()

    def save(self):
        begin = time.monotonic()
        with open(self.path, "wb") as file:
            torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, file)
            file.flush()
            os.fsync(file.fileno())
        return time.monotonic() - begin

    def run(self, checkpoints):
        seconds = []
        for _ in range(checkpoints):
            for _ in range(self.every):
                self.iterate()
            seconds.append(self.save())
        return {"seconds": seconds}


def main():
    *numbers, folder = sys.argv[1:]
    job = Job(*map(int, numbers), folder)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(job.run(int(line.split()[1]))), flush=True)


if __name__ == "__main__":
    main()
