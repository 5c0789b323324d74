"""The same with the Trainer of Hugging Face: scavenger-train train_transformers.py --workers 2 -- --text input.txt

A Trainer of transformers trains on several workers with torchrun, too; here the job resumes and resizes itself.
"""

import argparse

import torch
from transformers import GPT2Config, GPT2LMHeadModel, TrainingArguments

from model import load_text
from scavenger.huggingface import Trainer

parser = argparse.ArgumentParser()
parser.add_argument("--text", required=True)
parser.add_argument("--length", type=int, default=64)
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--layers", type=int, default=4)
parser.add_argument("--epochs", type=float, default=2)
options = parser.parse_args()


class Pieces(torch.utils.data.Dataset):
    """Pieces of a text as the models of transformers take them: the labels are shifted by the model."""

    def __init__(self, text):
        self.text = text

    def __len__(self):
        return len(self.text)

    def __getitem__(self, index):
        codes, _ = self.text[index]
        return {"input_ids": codes, "labels": codes}


train, test, letters = load_text(options.text, options.length)
model = GPT2LMHeadModel(GPT2Config(vocab_size=letters, n_positions=options.length, n_embd=options.width,
                                   n_layer=options.layers, n_head=4, bos_token_id=0, eos_token_id=0))
arguments = TrainingArguments(output_dir="unused", per_device_train_batch_size=32, per_device_eval_batch_size=32,
                              num_train_epochs=options.epochs, learning_rate=1e-3, lr_scheduler_type="constant",
                              logging_steps=50, report_to=[], use_cpu=True, disable_tqdm=True)
Trainer(model=model, args=arguments, train_dataset=Pieces(train), eval_dataset=Pieces(test)).train()
