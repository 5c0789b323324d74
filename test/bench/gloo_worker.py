"""One rank of the peer in the synchronisation benchmarks: Gloo's all-reduce and PyTorch's SGD-momentum step.

    gloo_worker.py FLOATS THREADS RANK WORLD HOST PORT START_LINE [--pieces N] [--interface NAME]

A process of a crew (crew.py). HOST:PORT is rank 0's. With --pieces the gradient is reduced in N all-reduces at the same time,
as DDP does with its buckets. The step is torch.optim.SGD's, fused, its fastest form for CPUs. Averaging costs nothing here: it
is in the learning rate.
"""

import argparse
import json
import os
import sys
import time

import torch
import torch.distributed

from start_line import StartLine


def parse():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for number in ("floats", "threads", "rank", "world"):
        arguments.add_argument(number, type=int)
    arguments.add_argument("host")
    arguments.add_argument("port", type=int)
    arguments.add_argument("start_line")
    arguments.add_argument("--pieces", type=int, default=1)
    arguments.add_argument("--interface", default="lo")
    return arguments.parse_args()


class Rank:
    def __init__(self, options):
        torch.set_num_threads(options.threads)
        os.environ["GLOO_SOCKET_IFNAME"] = options.interface
        torch.distributed.init_process_group("gloo", init_method=f"tcp://{options.host}:{options.port}",
                                             rank=options.rank, world_size=options.world)
        weights = torch.zeros(options.floats, requires_grad=True)
        weights.grad = torch.zeros(options.floats)
        self.gradient = weights.grad
        self.pieces = self.gradient.chunk(options.pieces)
        self.optimizer = torch.optim.SGD([weights], lr=1e-3 / options.world, momentum=0.9, fused=True)

    def synchronise(self):
        work = [torch.distributed.all_reduce(piece, async_op=True) for piece in self.pieces]
        for one in work:
            one.wait()
        self.optimizer.step()


def main():
    options = parse()
    rank = Rank(options)
    start_line = StartLine(options.start_line, options.rank, options.world)
    print("ready", flush=True)
    turns = 0
    for line in sys.stdin:
        begin, end = [], []
        for _ in range(int(line.split()[1])):
            rank.gradient.fill_(1e-3 if turns % 2 == 0 else -1e-3)
            turns += 1
            start_line.wait()
            begin.append(time.monotonic())
            rank.synchronise()
            end.append(time.monotonic())
        print(json.dumps({"begin": begin, "end": end}), flush=True)


if __name__ == "__main__":
    main()
