"""A causal language model with a loop of its own: scavenger-train train.py --workers 2 -- --text input.txt"""

import argparse

import torch

import scavenger
from model import LanguageModel, load_text, loss_of

parser = argparse.ArgumentParser()
parser.add_argument("--text", required=True)
parser.add_argument("--length", type=int, default=64)
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--layers", type=int, default=4)
parser.add_argument("--epochs", type=float, default=2)
parser.add_argument("--output")
options = parser.parse_args()

train, test, letters = load_text(options.text, options.length)
model = LanguageModel(letters, options.length, options.width, options.layers)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
scavenger.prepare(model, optimizer, clip_norm=1.0)
scavenger.evaluate(lambda batch: loss_of(model, batch), test)

for batch in scavenger.loader(train, batch_size=32, epochs=options.epochs):
    loss = loss_of(model, batch)
    scavenger.step(loss)
    scavenger.log({"loss": loss, "epoch": scavenger.epoch})

if options.output and scavenger.rank == 0:
    torch.save(model.state_dict(), options.output)
