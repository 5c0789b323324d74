"""The same as a LightningModule: scavenger-train train_lightning.py --workers 2 -- --text input.txt"""

import argparse

import pytorch_lightning
import torch

import scavenger.lightning
from model import LanguageModel, load_text, loss_of

parser = argparse.ArgumentParser()
parser.add_argument("--text", required=True)
parser.add_argument("--length", type=int, default=64)
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--layers", type=int, default=4)
parser.add_argument("--epochs", type=float, default=2)
options = parser.parse_args()


class Module(pytorch_lightning.LightningModule):
    def __init__(self, letters):
        super().__init__()
        self.model = LanguageModel(letters, options.length, options.width, options.layers)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)

    def training_step(self, batch, batch_idx):
        return loss_of(self.model, batch)

    def validation_step(self, batch, batch_idx):
        return loss_of(self.model, batch)


train, test, letters = load_text(options.text, options.length)
scavenger.lightning.fit(Module(letters), train, test, batch_size=32, epochs=options.epochs, clip_norm=1.0)
