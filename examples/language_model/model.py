"""A small causal language model of characters, and text as a data set. Nothing here knows of Scavenger."""

import torch
from torch import nn
from torch.nn import functional


class Text(torch.utils.data.Dataset):
    """Pieces of a text: `length` characters, and the characters that follow."""

    def __init__(self, codes, length):
        self.codes, self.length = codes, length

    def __len__(self):
        return (len(self.codes) - 1) // self.length

    def __getitem__(self, index):
        first = index * self.length
        piece = self.codes[first:first + self.length + 1]
        return piece[:-1], piece[1:]


def load_text(path, length, test_share=0.1):
    """The two splits, and the number of different characters."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    letters = sorted(set(text))
    number_of = {letter: number for number, letter in enumerate(letters)}
    codes = torch.tensor([number_of[letter] for letter in text])
    split = int(len(codes) * (1 - test_share))
    return Text(codes[:split], length), Text(codes[split:], length), len(letters)


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width),
                                   nn.Dropout(dropout))

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.attention(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True,
                                                        dropout_p=self.dropout if self.training else 0.0)
        x = x + self.projection(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.inner(self.norm2(x))


class LanguageModel(nn.Module):
    def __init__(self, letters, length, width, layers, heads=4, dropout=0.1):
        super().__init__()
        self.letters = nn.Embedding(letters, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads, dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, letters, bias=False)
        self.output.weight = self.letters.weight  # tied

    def forward(self, codes):
        x = self.letters(codes) + self.places(torch.arange(codes.shape[1], device=codes.device))
        for block in self.blocks:
            x = block(x)
        return self.output(self.norm(x))


def loss_of(model, batch):
    """The mean cross entropy of the next character."""
    codes, following = batch
    return functional.cross_entropy(model(codes).flatten(0, 1), following.flatten())
