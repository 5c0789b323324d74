"""A worker of a peer in resize_bench.py: trains the MLP, and notes when each iteration ended.

    resize_worker.py torchrun|adaptdl FOLDER BATCH

Rank 0 appends "WORLD PROCESS SECONDS" (CLOCK_MONOTONIC) to FOLDER/iterations after each iteration. A peer keeps its state as its
documentation says: torchrun's user writes a checkpoint every 50 iterations and reads the last one after each restart; AdaptDL
writes one when it is told to stop.
"""

import functools
import os
import pathlib
import sys
import time

import torch
import torch.distributed

from peer_models import make_model

SAMPLES = 4096
CHECKPOINT_EVERY = 50


class Notes:
    def __init__(self, folder):
        self.file = open(folder / "iterations", "a", buffering=1)

    def add(self, world):
        self.file.write(f"{world} {os.getpid()} {time.monotonic()}\n")


def torchrun(folder, batch_size):
    from torch.nn.parallel import DistributedDataParallel
    torch.distributed.init_process_group("gloo")
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    torch.set_num_threads(max(1, os.cpu_count() // world))
    model = make_model("mlp")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    saved = folder / "checkpoint.pt"
    if saved.exists():
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    model = DistributedDataParallel(model)
    loss = torch.nn.CrossEntropyLoss()
    share = max(1, batch_size // world)
    features, labels = torch.randn(share, 784), torch.randint(0, 10, (share,))
    notes = Notes(folder)
    iteration = 0
    while True:
        optimizer.zero_grad()
        loss(model(features), labels).backward()
        optimizer.step()
        iteration += 1
        if rank > 0:
            continue
        notes.add(world)
        if iteration % CHECKPOINT_EVERY == 0:
            torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, folder / "new.pt")
            os.replace(folder / "new.pt", saved)


def adaptdl(folder, batch_size):
    torch.load = functools.partial(torch.load, weights_only=False)  # its checkpoints are older than that default
    import adaptdl.env
    import adaptdl.torch
    adaptdl.torch.init_process_group("gloo")
    rank, world = adaptdl.env.replica_rank(), adaptdl.env.num_replicas()
    torch.set_num_threads(max(1, os.cpu_count() // world))
    model = make_model("mlp")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    model = adaptdl.torch.AdaptiveDataParallel(model, optimizer)
    data = torch.utils.data.TensorDataset(torch.randn(SAMPLES, 784), torch.randint(0, 10, (SAMPLES,)))
    loader = adaptdl.torch.AdaptiveDataLoader(data, batch_size=batch_size, shuffle=True, drop_last=True)
    loss = torch.nn.CrossEntropyLoss()
    notes = Notes(folder)
    for _ in adaptdl.torch.remaining_epochs_until(10**9):
        for features, labels in loader:
            optimizer.zero_grad()
            loss(model(features), labels).backward()
            optimizer.step()
            if rank == 0:
                notes.add(world)


if __name__ == "__main__":
    {"torchrun": torchrun, "adaptdl": adaptdl}[sys.argv[1]](pathlib.Path(sys.argv[2]), int(sys.argv[3]))
