#!/usr/bin/env python3
"""Makes the data of an example: make_data.py images|text|tabular, which writes FOLDER/EXAMPLE/data.

Images and tables are of Fashion-MNIST (Debian: dataset-fashion-mnist), texts are lines of this
project's files. FOLDER is this script's unless --to names another.
"""

import argparse
import gzip
import json
import pathlib
import random

import numpy

HERE = pathlib.Path(__file__).resolve().parent
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
CLASSES = ("t-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")
KINDS = {"cpp": ("runtime", "*.cpp"), "python": ("python", "*.py"), "english": ("docs", "*.md")}
SHORTEST_LINE = 12  # characters


def fashion(count):
    """The first images [count, 28, 28] and their classes."""
    with gzip.open(FASHION / "train-images-idx3-ubyte.gz") as file:
        images = numpy.frombuffer(file.read(16 + count * 784)[16:], numpy.uint8).reshape(-1, 28, 28)
    with gzip.open(FASHION / "train-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(8 + count)[8:], numpy.uint8)
    return images, labels


def make_images(folder, count):
    """A folder of PNG files for each class."""
    try:
        from PIL import Image
    except ImportError:
        raise SystemExit("make_data.py: PNG files are written by Pillow: pip install pillow, with this Python") from None
    for number, (pixels, label) in enumerate(zip(*fashion(count))):
        place = folder / CLASSES[label]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / f"{number}.png")


def make_tabular(folder, count):
    """A Parquet file: the brightness of 49 squares of an image, and what it shows."""
    import pyarrow
    import pyarrow.parquet
    images, labels = fashion(count)
    squares = images.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49) / 255
    columns = {f"square_{i}": pyarrow.array(squares[:, i], mask=numpy.arange(count) % 97 == i) for i in range(49)}
    columns["shows"] = [CLASSES[label] for label in labels]
    folder.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "clothes.parquet")


def lines_of(kind, count):
    """Lines of this project's files of a kind."""
    place, pattern = KINDS[kind]
    files = sorted((HERE.parent / place).rglob(pattern))
    found = [line.strip() for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    found = [line for line in found if len(line) >= SHORTEST_LINE]
    random.Random(1).shuffle(found)
    return found[:count]


def make_text(folder, count):
    """JSON Lines, a tokenizer that was trained on them, and an encoder with random weights."""
    import tokenizers
    import torch
    from transformers import BertConfig, BertModel
    rows = [{"line": line, "kind": kind} for kind in KINDS for line in lines_of(kind, count // len(KINDS))]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    tokenizer = tokenizers.BertWordPieceTokenizer(lowercase=False)
    tokenizer.train_from_iterator([row["line"] for row in rows], vocab_size=2000)
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(1)
    BertModel(BertConfig(vocab_size=2000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                         intermediate_size=128, max_position_embeddings=64)).save_pretrained(folder / "encoder")


def main():
    makers = {"images": make_images, "text": make_text, "tabular": make_tabular}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("example", choices=makers)
    parser.add_argument("--to", type=pathlib.Path, default=HERE)
    parser.add_argument("--count", type=int, default=6000, help="samples")
    arguments = parser.parse_args()
    makers[arguments.example](arguments.to / arguments.example / "data", arguments.count)


if __name__ == "__main__":
    main()
