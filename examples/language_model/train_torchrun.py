"""The same with torchrun and DistributedDataParallel: torchrun --nproc-per-node 2 train_torchrun.py --text input.txt

It goes on from its last checkpoint if it is started again, with as many workers as before or others. What it lacks, in
comparison: after a resume the samples of an epoch that was begun are others, a lost worker ends all of them until
torchrun starts them again, and nobody resizes it while it trains.
"""

import argparse
import math
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from model import LanguageModel, load_text, loss_of

parser = argparse.ArgumentParser()
parser.add_argument("--text", required=True)
parser.add_argument("--length", type=int, default=64)
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--layers", type=int, default=4)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--output")
parser.add_argument("--checkpoint", default="checkpoint.pt")
options = parser.parse_args()

dist.init_process_group("gloo")
rank, workers = dist.get_rank(), dist.get_world_size()
torch.set_num_threads(max(1, os.cpu_count() // workers))
torch.manual_seed(1)

train, test, letters = load_text(options.text, options.length)
model = LanguageModel(letters, options.length, options.width, options.layers)
parallel = DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)

share = 32 // workers
sampler = DistributedSampler(train, shuffle=True, seed=1, drop_last=True)
batches = DataLoader(train, batch_size=share, sampler=sampler, num_workers=1, drop_last=True)
test_sampler = DistributedSampler(test, shuffle=False)
test_batches = DataLoader(test, batch_size=share, sampler=test_sampler, num_workers=1)

iteration, first_epoch = 0, 0
if os.path.exists(options.checkpoint):
    state = torch.load(options.checkpoint, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    iteration, first_epoch = state["iteration"], state["epoch"]


def save_checkpoint(epoch):
    if rank == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "iteration": iteration,
                 "epoch": epoch}
        torch.save(state, options.checkpoint + ".new")
        os.replace(options.checkpoint + ".new", options.checkpoint)
    dist.barrier()


def evaluate():
    model.eval()
    sums = torch.zeros(2)
    with torch.no_grad():
        for batch in test_batches:
            sums += torch.tensor([loss_of(model, batch).item() * len(batch[0]), len(batch[0])])
    dist.all_reduce(sums)
    model.train()
    return (sums[0] / sums[1]).item()


for epoch in range(first_epoch, options.epochs):
    sampler.set_epoch(epoch)
    for batch in batches:
        loss = loss_of(parallel, batch)
        if not math.isfinite(loss.item()):
            raise ValueError(f"the loss is {loss.item()} in iteration {iteration}")
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        iteration += 1
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0 and iteration % 100 == 0:
            print(f"iteration {iteration} loss {mean.item() / workers:.4f}")
    save_checkpoint(epoch + 1)
    test_loss = evaluate()
    if rank == 0:
        print(f"epoch {epoch + 1} test loss {test_loss:.4f}")

if options.output and rank == 0:
    torch.save(model.state_dict(), options.output)
dist.destroy_process_group()
