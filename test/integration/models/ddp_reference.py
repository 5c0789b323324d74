"""PyTorch DDP on the batches of torchscript_test.py, over Gloo with two ranks: prints the losses, writes ddp.pth.

    ddp_reference.py FOLDER BATCH_SIZE ITERATIONS
"""

import json
import pathlib
import sys

import numpy
import torch
import torch.distributed
import torch.multiprocessing
from torch.nn.parallel import DistributedDataParallel

TEST = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TEST / "unit" / "runtime" / "torch" / "models"), str(TEST / "integration")]
import reference_models
import sample_order

RANKS = 2


def read_images(path):
    records = numpy.fromfile(path, dtype=numpy.uint8).reshape(-1, 3073)
    images = records[:, 1:].reshape(-1, 3, 32, 32).astype(numpy.float32) * numpy.float32(1 / 255)
    return torch.from_numpy(images), torch.from_numpy(records[:, 0].astype(numpy.int64))


def train(rank, folder, batch_size, iterations, results):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/ddp_meets", rank=rank, world_size=RANKS)
    images, labels = read_images(folder / "train.bin")
    model = reference_models.ResNet(reference_models.BasicBlock, [1, 1, 1, 1], first_channels=8)
    model.load_state_dict(torch.load(folder / "start.pth"))
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=1e-4, momentum=0.9)
    positions = [sample_order.epoch_order(1, epoch, len(labels)) for epoch in range(batch_size * iterations // len(labels) + 1)]
    positions = [place for epoch in positions for place in epoch]
    share = batch_size // RANKS
    losses = []
    for iteration in range(iterations):
        first = iteration * batch_size + rank * share
        chosen = positions[first:first + share]
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(parallel(images[chosen]), labels[chosen])
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        torch.distributed.all_reduce(mean)
        losses.append(mean.item() / RANKS)
    if rank == 0:
        torch.save(model.state_dict(), folder / "ddp.pth")
        results.put(losses)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    folder, batch_size, iterations = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    results = torch.multiprocessing.get_context("spawn").SimpleQueue()
    torch.multiprocessing.spawn(train, (folder, batch_size, iterations, results), nprocs=RANKS)
    print(json.dumps(results.get()))
