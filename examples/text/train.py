import pathlib

import torch
from transformers import BertForSequenceClassification

ENCODER = pathlib.Path(__file__).parent / "data" / "encoder"


def make_model():
    return BertForSequenceClassification.from_pretrained(ENCODER, num_labels=3)


def make_optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
