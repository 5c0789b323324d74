"""One rank of PyTorch DDP over Gloo, or plain PyTorch where there is one; a process of a crew (crew.py).

    ddp_worker.py MODEL BATCH THREADS RANK WORLD PORT [--bucket-view]

Commands: "sync N" does N iterations; "alone S" iterates S seconds without synchronisation: the same forward, backward and
optimizer step. The answer has the iterations and their begin and end (CLOCK_MONOTONIC, in seconds). Features and labels lie
in memory, ready to use, so that loading costs this peer nothing.
"""

import argparse
import contextlib
import json
import os
import sys
import time

import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel

from peer_models import SHAPES, make_model

BATCHES = 16


def parse():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", choices=SHAPES)
    for number in ("batch", "threads", "rank", "world", "port"):
        arguments.add_argument(number, type=int)
    arguments.add_argument("--bucket-view", action="store_true", help="gradients are views of the buckets")
    return arguments.parse_args()


def join(options):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{options.port}", rank=options.rank,
                                         world_size=options.world)


class Rank:
    def __init__(self, options):
        torch.set_num_threads(options.threads)
        torch.manual_seed(1)
        self.model = make_model(options.model)
        if options.world > 1:
            join(options)
            self.model = DistributedDataParallel(self.model, gradient_as_bucket_view=options.bucket_view)
        self.world = options.world
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)
        self.loss = torch.nn.CrossEntropyLoss()
        self.batches = [(torch.randn(options.batch, *SHAPES[options.model]), torch.randint(0, 10, (options.batch,)))
                        for _ in range(BATCHES)]
        self.iteration = 0

    def iterate(self):
        features, labels = self.batches[self.iteration % BATCHES]
        self.iteration += 1
        self.optimizer.zero_grad()
        loss = self.loss(self.model(features), labels)
        loss.item()  # as our worker does, which reports it
        loss.backward()
        self.optimizer.step()

    def barrier(self):
        if self.world > 1:
            torch.distributed.barrier()

    def sync(self, iterations):
        self.barrier()
        begin = time.monotonic()
        for _ in range(int(iterations)):
            self.iterate()
        return {"iterations": int(iterations), "begin": begin, "end": time.monotonic()}

    def alone(self, seconds):
        self.barrier()
        begin = now = time.monotonic()
        iterations = 0
        with self.model.no_sync() if self.world > 1 else contextlib.nullcontext():
            while now < begin + float(seconds):
                self.iterate()
                iterations += 1
                now = time.monotonic()
        return {"iterations": iterations, "begin": begin, "end": now}


def main():
    rank = Rank(parse())
    print("ready", flush=True)
    for line in sys.stdin:
        command, value = line.split()
        print(json.dumps({"sync": rank.sync, "alone": rank.alone}[command](value)), flush=True)


if __name__ == "__main__":
    main()
