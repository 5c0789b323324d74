"""The same with PyTorch alone: torchrun --nproc-per-node 2 torchrun.py"""

import os
import pathlib

import numpy
import pyarrow.parquet
import torch
import torch.distributed as dist
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split

from train import make_model

FILE = pathlib.Path(__file__).parent / "data" / "clothes.parquet"
BATCH_SIZE, EPOCHS, TARGET, CHECKPOINT = 64, 10, 0.8, "checkpoint.pt"


def read_splits():
    table = pyarrow.parquet.read_table(FILE)
    names = sorted(set(table.column("shows").to_pylist()))
    labels = torch.tensor([names.index(name) for name in table.column("shows").to_pylist()])
    columns = [numpy.array(table.column(name).to_pylist(), dtype=numpy.float32)
               for name in table.column_names if name != "shows"]
    features = torch.from_numpy(numpy.stack(columns, axis=1))
    train, test = random_split(range(len(labels)), [0.9, 0.1], torch.Generator().manual_seed(1))
    means = features[train.indices].nanmean(0)
    features = torch.where(features.isnan(), means, features)
    return [TensorDataset(features[part.indices], labels[part.indices]) for part in (train, test)]


def accuracy(model, loader):
    sums = torch.zeros(2)
    model.eval()
    with torch.no_grad():
        for features, labels in loader:
            sums += torch.tensor([(model(features).argmax(1) == labels).sum(), len(labels)])
    model.train()
    dist.all_reduce(sums)
    return float(sums[0] / sums[1])


def main():
    dist.init_process_group("gloo")
    rank, workers = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(max(1, os.cpu_count() // workers))
    torch.manual_seed(1)
    train, test = read_splits()
    sampler = DistributedSampler(train)
    loader = DataLoader(train, BATCH_SIZE // workers, sampler=sampler, drop_last=True)
    test_loader = DataLoader(test, 500, sampler=DistributedSampler(test, shuffle=False))
    model = DistributedDataParallel(make_model())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    first = 0
    if os.path.exists(CHECKPOINT):
        saved = torch.load(CHECKPOINT)
        model.module.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["epoch"]
    for epoch in range(first, EPOCHS):
        sampler.set_epoch(epoch)
        for features, labels in loader:
            loss = functional.cross_entropy(model(features), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        reached = accuracy(model, test_loader)
        if rank == 0:
            print(f"epoch {epoch + 1}: test accuracy {reached:.4f}", flush=True)
            torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1},
                       CHECKPOINT)
        if reached >= TARGET:
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
