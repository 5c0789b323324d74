"""The data sets that the section `data` of a configuration describes."""

from __future__ import annotations

import json
import pathlib
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy
import torch
from torch.utils.data import default_collate

from scavenger import Batch
from scavenger.data import tables, tar_shards
from scavenger.data.columns import Rows, chosen, split_arrays
from scavenger.data.division import Part, divide
from scavenger.data.images import ImageFiles, ImagePipeline, list_images
from scavenger.data.labels import Labels, targets_as_values
from scavenger.data.prepared import Prepared, prepared
from scavenger.data.text import Texts, TokenizerFile
from scavenger.problems import UserError

FORMATS = ("image_folder", "table", "huggingface", "webdataset")
TRAIN, TEST = "train", "test"
SETTINGS = ("classes", "columns", "tokenizer", "validation_share")  # that decide what is prepared


class Rectangle:
    """Rows of numbers with their targets."""

    def __init__(self, features: numpy.ndarray, targets: numpy.ndarray) -> None:
        self._features = numpy.asarray(features)
        self._targets = torch.from_numpy(numpy.array(targets))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._targets)

    def __getitem__(self, index: int) -> Tuple[torch.Tensor, torch.Tensor]:
        """Return (features, target)."""
        return torch.from_numpy(numpy.array(self._features[index])), self._targets[index]

    def rows(self, numbers: torch.Tensor) -> Batch:
        """Return the batch of these rows, as collate() makes it of them."""
        return Batch(torch.from_numpy(self._features[numbers.numpy()]), self._targets[numbers])


class Reader:
    """Makes the data set of a split."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._format = data["train"]["format"]
        self._columns = data.get("columns") or {}
        self._share = float(data.get("validation_share", 0.0))
        self._texts: Optional[Texts] = None

    def __call__(self, split: str) -> Any:
        """Return the data set, whose samples are (input, target). Raises UserError."""
        if self._format == "image_folder":
            return self._image_folder(split)
        if self._format == "webdataset":
            return self._web_dataset(split)
        return self._table(split)

    def has_rows(self) -> bool:
        """Return whether the data sets are rows of numbers, which are mapped and not copied."""
        return (self._format in ("table", "huggingface") and not self._columns.get("text")
                and not self._columns.get("image"))

    def collate(self, samples: List[Any]) -> Batch:
        """Return the batch of some samples."""
        if self._texts is not None:
            return self._texts.collate(samples)
        return Batch(*default_collate(samples))

    def _files(self, split: str) -> List[str]:
        return list(self._source(split)["files"])

    def _source(self, split: str) -> Mapping[str, Any]:
        """Return where a split comes from: the same for both if a share is held back."""
        return self._data[TRAIN if self._share > 0 else split]

    def _settings(self, split: str) -> Dict[str, Any]:
        found = {name: self._data.get(name) for name in SETTINGS}
        if found["tokenizer"]:
            path = pathlib.Path(found["tokenizer"]["file"])
            status = path.stat()
            found["tokenizer"] = [found["tokenizer"], status.st_size, status.st_mtime_ns]
        return {**found, "format": self._format, "split": split}

    # ---- Images in folders. ----

    def _image_folder(self, split: str) -> ImageFiles:
        classes = int(self._data.get("classes", 0))
        names, images = list_images(self._files(split))
        train_names = names if split == TRAIN else list_images(self._files(TRAIN))[0]
        folder = self._files(split)[0]
        if names != train_names:
            odd = sorted(set(names) ^ set(train_names))
            raise UserError(f"the folders of training and test data differ in the class {odd[0]}",
                            folder, "give both the same folders of classes")
        Labels([], classes, folder, names)  # compares their number with data.classes
        if self._share > 0:
            rows = divide(len(images), self._share)[0 if split == TRAIN else 1]
            images = [images[row] for row in rows]
        return ImageFiles(images, ImagePipeline(self._data, split == TRAIN))

    # ---- Tables. ----

    def _read_tables(self, split: str
                     ) -> Tuple[List[pathlib.Path], Callable[[List[str]], Rows]]:
        """Return the files, and what reads them; the names are those of the features, if known."""
        label = self._columns["label"]
        features = list(self._columns.get("features") or [])
        text = self._columns.get("text") or ""
        if text:
            features = [text]
        wanted = [label, *features] if features else []
        reading = tables.read_saved if self._format == "huggingface" else tables.read_tables
        files, read = reading(self._files(split), wanted, text)
        missing = self._columns.get("missing", "error")
        return files, lambda names: Rows(read(), label, names or features, missing)

    def _table(self, split: str) -> Any:
        if self._columns.get("image"):
            return self._saved_images(split)
        train_files, read_train = self._read_tables(TRAIN)
        files, read = (train_files, read_train) if self._share > 0 else self._read_tables(split)

        def make() -> Tuple[Dict[str, numpy.ndarray], Dict[str, Any]]:
            train = read_train([])
            own = train if self._share > 0 or split == TRAIN else read(list(train.values))
            arrays, meta = split_arrays(train, own, self._data, split == TRAIN)
            if self._columns.get("text"):
                rows = meta.pop("rows")
                texts = own.values[self._columns["text"]]
                arrays.update(TokenizerFile(self._data["tokenizer"]).encode(
                    [texts[row] for row in rows], lambda row: own.place(rows[row])))
            return arrays, meta
        return self._opened(prepared(self._settings(split), [*train_files, *files], make))

    def _opened(self, found: Prepared) -> Any:
        if not self._columns.get("text"):
            return Rectangle(found.array("features"), found.array("targets"))
        padding = TokenizerFile(self._data["tokenizer"]).padding
        self._texts = Texts(found.array("tokens"), found.array("starts"), found.array("targets"),
                            padding)
        return self._texts

    def _saved_images(self, split: str) -> tar_shards.StoredImages:
        """Images that the library `datasets` has stored in Arrow: mapped, and read one by one."""
        if self._format != "huggingface":
            raise UserError("a column of images is read from data sets of the library `datasets`",
                            "data.columns.image", "use the format huggingface, image_folder or "
                            "webdataset")
        train = self._image_rows(TRAIN)
        own = train if self._share > 0 or split == TRAIN else self._image_rows(split)
        arrays, meta = split_arrays(train, own, {**self._data, "columns": {"text": "image"}},
                                    split == TRAIN)
        column = self._columns["image"]
        parts = [(path, tables.open_arrow(path).column(column))
                 for path, _ in tables.saved_files(self._files(split))]
        ends = numpy.cumsum([len(part) for _, part in parts])
        rows = meta["rows"]

        def read(index: int) -> Tuple[bytes, str]:
            number = rows[index]
            part = int(numpy.searchsorted(ends, number, side="right"))
            path, values = parts[part]
            row = number - int(ends[part] - len(values))
            value = values[row].as_py()
            place = f"{path}, row {row}"
            content = value.get("bytes") if isinstance(value, dict) else value
            if not content:
                raise UserError("the image is not stored in the data set", place, "have datasets "
                                "embed it: map(..., features=Image()) and save_to_disk() again")
            return content, place
        return tar_shards.StoredImages(read, arrays["targets"],
                                       ImagePipeline(self._data, split == TRAIN))

    def _image_rows(self, split: str) -> Rows:
        label = self._columns["label"]
        _, read = tables.read_saved(self._files(split), [label])
        return Rows(read(), label, [label], "error")

    # ---- Shards of tar. ----

    def _web_dataset(self, split: str) -> Any:
        shards = tar_shards.shards_of(self._files(split))
        train_shards = tar_shards.shards_of(self._files(TRAIN))
        is_text = bool(self._columns.get("text"))

        def make() -> Tuple[Dict[str, numpy.ndarray], Dict[str, Any]]:
            own = tar_shards.ShardIndex(shards, self._columns)
            train = own if split == TRAIN or self._share > 0 else \
                tar_shards.ShardIndex(train_shards, self._columns)
            classes = int(self._data.get("classes", 0))
            rows = chosen(len(own.inputs), self._share, split == TRAIN, self._share > 0)
            kept = chosen(len(train.inputs), self._share, True, self._share > 0)
            if classes > 0:
                labels = Labels([train.labels[row] for row in kept], classes, train.places[0])
                targets = labels.numbers(own.labels, own.places.__getitem__)
            else:
                targets = targets_as_values(own.labels, own.places.__getitem__)[:, None]
            arrays = {"targets": targets[rows]}
            if is_text:
                arrays.update(TokenizerFile(self._data["tokenizer"]).encode(
                    own.texts(shards, rows.tolist()), lambda row: own.places[rows[row]]))
            else:
                arrays["inputs"] = own.table(rows)
            return arrays, {}
        found = prepared(self._settings(split), [*train_shards, *shards], make)
        if is_text:
            return self._opened(found)
        inputs = found.array("inputs")

        def read(index: int) -> Tuple[bytes, str]:
            shard, offset, size = (int(number) for number in inputs[index])
            return (tar_shards.read_at(shards[shard], tar_shards.Entry(shard, offset, size)),
                    f"{shards[shard]}, at byte {offset}")
        return tar_shards.StoredImages(read, found.array("targets"),
                                       ImagePipeline(self._data, split == TRAIN))


class Divided:
    """The user's own training data, of which a share is held back for testing."""

    def __init__(self, make_dataset: Callable[[str], Any], share: float) -> None:
        self._make_dataset = make_dataset
        self._share = share

    def __call__(self, split: str) -> Part:
        """Return the part of the split."""
        whole = self._make_dataset(TRAIN)
        if hasattr(whole, "at_position"):
            raise UserError("samples of Shards cannot be held back", "data.validation_share",
                            'give make_dataset("test") shards of its own, and leave it out')
        return Part(whole, divide(len(whole), self._share)[0 if split == TRAIN else 1])


def reader(data: Mapping[str, Any]) -> Reader:
    """Return what makes the data set of a split, "train" or "test", as `data` describes."""
    if data.get("train", {}).get("format") not in FORMATS:
        raise UserError(f"{json.dumps(data.get('train'))} has none of the formats "
                        f"{', '.join(FORMATS)}", "data.train.format", "use one of them")
    return Reader(data)
