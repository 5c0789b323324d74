"""The same with PyTorch alone: torchrun --nproc-per-node 2 torchrun.py"""

import json
import os
import pathlib

import torch
import torch.distributed as dist
from tokenizers import Tokenizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, random_split

from train import make_model, make_optimizer

DATA = pathlib.Path(__file__).parent / "data"
BATCH_SIZE, EPOCHS, TARGET, CHECKPOINT = 64, 5, 0.95, "checkpoint.pt"


def read_samples():
    tokenizer = Tokenizer.from_file(str(DATA / "tokenizer.json"))
    tokenizer.enable_truncation(48)
    rows = [json.loads(line) for line in (DATA / "lines.jsonl").read_text().splitlines()]
    kinds = sorted({row["kind"] for row in rows})
    encodings = tokenizer.encode_batch([row["line"] for row in rows])
    return [(encoding.ids, kinds.index(row["kind"])) for encoding, row in zip(encodings, rows)]


def collate(samples):
    longest = max(len(tokens) for tokens, _ in samples)
    tokens = torch.zeros(len(samples), longest, dtype=torch.int64)
    mask = torch.zeros_like(tokens)
    for row, (sample, _) in enumerate(samples):
        tokens[row, :len(sample)] = torch.tensor(sample)
        mask[row, :len(sample)] = 1
    return {"input_ids": tokens, "attention_mask": mask}, torch.tensor([label for _, label in samples])


def accuracy(model, loader):
    sums = torch.zeros(2)
    model.eval()
    with torch.no_grad():
        for inputs, labels in loader:
            sums += torch.tensor([(model(**inputs).logits.argmax(1) == labels).sum(), len(labels)])
    model.train()
    dist.all_reduce(sums)
    return float(sums[0] / sums[1])


def main():
    dist.init_process_group("gloo")
    rank, workers = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(max(1, os.cpu_count() // workers))
    torch.manual_seed(1)
    train, test = random_split(read_samples(), [0.9, 0.1], torch.Generator().manual_seed(1))
    sampler = DistributedSampler(train)
    loader = DataLoader(train, BATCH_SIZE // workers, sampler=sampler, collate_fn=collate, drop_last=True)
    test_loader = DataLoader(test, 500, sampler=DistributedSampler(test, shuffle=False), collate_fn=collate)
    model = DistributedDataParallel(make_model(), find_unused_parameters=True)
    optimizer = make_optimizer(model)
    first = 0
    if os.path.exists(CHECKPOINT):
        saved = torch.load(CHECKPOINT)
        model.module.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["epoch"]
    for epoch in range(first, EPOCHS):
        sampler.set_epoch(epoch)
        for inputs, labels in loader:
            loss = model(**inputs, labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
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
