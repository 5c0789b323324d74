"""The same with PyTorch alone: torchrun --nproc-per-node 2 torchrun.py"""

import os
import pathlib

import numpy
import torch
import torch.distributed as dist
from PIL import Image
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, random_split

from train import make_model

BATCH_SIZE, EPOCHS, TARGET, CHECKPOINT = 64, 10, 0.85, "checkpoint.pt"


class ImageFolder(Dataset):
    def __init__(self, folder):
        self.classes = sorted(path.name for path in folder.iterdir())
        self.files = sorted(folder.glob("*/*.png"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path = self.files[index]
        pixels = numpy.array(Image.open(path).convert("L"), dtype=numpy.float32) / 255
        return torch.from_numpy(pixels)[None], self.classes.index(path.parent.name)


class Flipped(Dataset):
    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, index):
        image, label = self.dataset[index]
        return (image.flip(2) if torch.rand(()) < 0.5 else image), label


def accuracy(model, loader):
    sums = torch.zeros(2)
    model.eval()
    with torch.no_grad():
        for images, labels in loader:
            sums += torch.tensor([(model(images).argmax(1) == labels).sum(), len(labels)])
    model.train()
    dist.all_reduce(sums)
    return float(sums[0] / sums[1])


def main():
    dist.init_process_group("gloo")
    rank, workers = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(max(1, os.cpu_count() // workers))
    torch.manual_seed(1)
    whole = ImageFolder(pathlib.Path(__file__).parent / "data")
    train, test = random_split(whole, [0.9, 0.1], torch.Generator().manual_seed(1))
    sampler = DistributedSampler(train)
    loader = DataLoader(Flipped(train), BATCH_SIZE // workers, sampler=sampler, num_workers=1, drop_last=True)
    test_loader = DataLoader(test, 500, sampler=DistributedSampler(test, shuffle=False))
    model = DistributedDataParallel(make_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    first = 0
    if os.path.exists(CHECKPOINT):
        saved = torch.load(CHECKPOINT)
        model.module.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["epoch"]
    for epoch in range(first, EPOCHS):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            loss = functional.cross_entropy(model(images), labels)
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
