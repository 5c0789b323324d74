"""Data sets of formats that people have, described as the section `data` of a configuration is.

`scavenger-train` reads these formats for models in Python (docs/python_data.md of the project).
The same description makes the same data set in a program of one's own:

    train = scavenger.data.reader({
        "train": {"format": "image_folder", "files": ["flowers"]},
        "sample_shape": [3, 64, 64], "classes": 5, "validation_share": 0.1})("train")

Each sample is a pair (input, target). A library that a format needs is imported when a data set of
that format is made.
"""

from __future__ import annotations

from scavenger.data.configured import FORMATS, reader
from scavenger.data.shards import Shards

__all__ = ["FORMATS", "Shards", "reader"]
