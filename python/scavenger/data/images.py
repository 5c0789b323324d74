"""Images: decoded by Pillow, brought to one size, augmented, and normalised."""

from __future__ import annotations

import io
import pathlib
from typing import Any, List, Mapping, Sequence, Tuple, Union

import numpy
import torch

from scavenger.data.sources import require
from scavenger.problems import UserError

ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp")
MODES = {1: "L", 3: "RGB", 4: "RGBA"}


class ImagePipeline:
    """Makes a tensor [channels, height, width] of an encoded image.

    The image keeps its proportions: it is scaled until it covers the size, and the middle is cut
    out. Random changes are drawn from torch's generator.
    """

    def __init__(self, data: Mapping[str, Any], is_training: bool) -> None:
        shape = data.get("sample_shape") or []
        if len(shape) != 3 or shape[0] not in MODES:
            raise UserError(f"images cannot be brought to the shape {list(shape)}",
                            "data.sample_shape", "use [3, height, width], or [1, height, width]")
        self._pillow = require("PIL.Image", "reading images")
        self._orientation = require("PIL.ImageOps", "reading images")
        channels, self._height, self._width = shape
        self._mode = MODES[channels]
        self._scale = float(data.get("scale", 1 / 255))
        self._normalises = bool(data.get("normalise"))
        normalise = data.get("normalise") or {"mean": [0.0], "standard_deviation": [1.0]}
        self._mean = torch.tensor(normalise["mean"], dtype=torch.float32).view(-1, 1, 1)
        self._deviation = torch.tensor(normalise["standard_deviation"],
                                       dtype=torch.float32).view(-1, 1, 1)
        augment = data.get("augment") or {}
        self._flips = is_training and bool(augment.get("flip", False))
        self._padding = int(augment.get("crop_padding", 0)) if is_training else 0

    def load(self, source: Union[pathlib.Path, bytes], place: str) -> torch.Tensor:
        """Return the tensor of an image. Raises UserError that names the place."""
        try:
            with self._pillow.open(io.BytesIO(source) if isinstance(source, bytes)
                                   else source) as opened:
                self._orientation.exif_transpose(opened, in_place=True)
                # Pillow copies an image also where there is nothing to do.
                image = self._fit(opened if opened.mode == self._mode
                                  else opened.convert(self._mode))
                pixels = numpy.array(image, dtype=numpy.float32)
        except (OSError, ValueError, SyntaxError, self._pillow.DecompressionBombError) as error:
            raise UserError(f"this image cannot be read: {error}", place,
                            "replace it, or take it away") from error
        tensor = torch.from_numpy(pixels.reshape(self._height, self._width, -1)).permute(2, 0, 1)
        tensor = tensor * self._scale
        if self._normalises:
            tensor = (tensor - self._mean) / self._deviation
        return self._augment(tensor).contiguous()

    def _fit(self, image: Any) -> Any:
        width, height = image.size
        scale = max(self._width / width, self._height / height)
        size = (max(self._width, round(width * scale)), max(self._height, round(height * scale)))
        if size != image.size:
            image = image.resize(size, self._pillow.Resampling.BILINEAR)
        if size == (self._width, self._height):
            return image
        left, top = (size[0] - self._width) // 2, (size[1] - self._height) // 2
        return image.crop((left, top, left + self._width, top + self._height))

    def _augment(self, tensor: torch.Tensor) -> torch.Tensor:
        if self._padding > 0:
            padding = self._padding
            padded = torch.nn.functional.pad(tensor, (padding, padding, padding, padding))
            top, left = torch.randint(0, 2 * padding + 1, (2,)).tolist()
            tensor = padded[:, top:top + self._height, left:left + self._width]
        if self._flips and bool(torch.rand(()) < 0.5):
            tensor = tensor.flip(2)
        return tensor


def list_images(folders: Sequence[str]) -> Tuple[List[str], List[Tuple[pathlib.Path, int]]]:
    """Return the names of the classes, and all images with their class, sorted by name."""
    names: List[str] = []
    found: List[Tuple[str, str, pathlib.Path]] = []
    for folder in map(pathlib.Path, folders):
        if not folder.is_dir():
            raise UserError("this is no folder", str(folder),
                            "name a folder that has a folder of images for each class")
        for inside in sorted(path for path in folder.iterdir() if path.is_dir()):
            if inside.name.startswith("."):
                continue
            images = sorted(path for path in inside.rglob("*")
                            if path.suffix.lower() in ENDINGS and path.is_file())
            if not images:
                raise UserError("this folder of a class has no images", str(inside),
                                f"put files into it that end in {', '.join(ENDINGS)}, or remove it")
            names.append(inside.name)
            found += [(inside.name, str(path.relative_to(folder)), path) for path in images]
    classes = sorted(set(names))
    if not classes:
        raise UserError("there is no folder of a class", ", ".join(map(str, folders)),
                        "put the images of each class into a folder of its name")
    number = {name: index for index, name in enumerate(classes)}
    return classes, [(path, number[name]) for name, _, path in sorted(found)]


class ImageFiles:
    """Image files with their classes."""

    def __init__(self, images: Sequence[Tuple[pathlib.Path, int]],
                 pipeline: ImagePipeline) -> None:
        self.images = images
        self._pipeline = pipeline

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.images)

    def __getitem__(self, index: int) -> Tuple[torch.Tensor, int]:
        """Return (image, class)."""
        path, label = self.images[index]
        return self._pipeline.load(path, str(path)), label
