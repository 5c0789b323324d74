"""The functions of a model's Python file."""

from __future__ import annotations

import dataclasses
import importlib.util
import pathlib
import sys
from types import ModuleType
from typing import Any, Callable, Mapping, Optional

from scavenger.problems import UserError, blaming

# Loader processes that are forked or spawned import the module again under this name.
MODULE = "scavenger_user_file"
# Those of data that loader processes read.
PYTHON_FORMATS = ("python", "image_folder", "table", "huggingface", "webdataset")


@dataclasses.dataclass
class UserFile:
    """What a model's file defines; functions that it does not have are None."""

    path: pathlib.Path
    make_model: Callable[[], Any]
    loss: Optional[Callable[..., Any]] = None
    make_dataset: Optional[Callable[[str], Any]] = None
    collate: Optional[Callable[[list], Any]] = None
    test_collate: Optional[Callable[[list], Any]] = None  # of the test data, if it is another one
    evaluate: Optional[Callable[..., Any]] = None
    make_optimizer: Optional[Callable[..., Any]] = None
    make_scheduler: Optional[Callable[..., Any]] = None
    example_inputs: Optional[Callable[[], Any]] = None


def _function(module: ModuleType, name: str, path: pathlib.Path) -> Any:
    found = getattr(module, name, None)
    if found is not None and not callable(found):
        raise UserError(f"{name} is no function", str(path), f"define it: def {name}(...)")
    return found


def load_module(path: pathlib.Path) -> ModuleType:
    """Import the file; its folder comes first where it looks for modules of its own."""
    if not path.is_file():
        raise UserError(f"there is no file {path}", "model.file", "correct the path")
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(MODULE, path)
    if spec is None or spec.loader is None:
        raise UserError("this is no Python file", str(path), "name a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    with blaming(f"importing {path.name}"):
        spec.loader.exec_module(module)
    return module


def of_data(data: Mapping[str, Any]) -> UserFile:
    """Return what a file without functions would have of this data: enough to load samples."""
    file = UserFile(path=pathlib.Path(), make_model=lambda: None)
    _use_data(file, data)
    return file


def is_needed_to_load(file: UserFile) -> bool:
    """Return whether samples are loaded with functions of the file, and not of this package alone."""
    from scavenger.data.configured import Reader

    return not (isinstance(file.make_dataset, Reader)
                and file.collate == file.make_dataset.collate)


def has_rows(file: UserFile) -> bool:
    """Return whether the samples are rows of numbers, which each process can map."""
    from scavenger.data.configured import Reader

    return (isinstance(file.make_dataset, Reader) and file.make_dataset.has_rows()
            and file.collate == file.make_dataset.collate)


def _use_data(file: UserFile, data: Mapping[str, Any]) -> None:
    """Have the data set made that the section `data` of the configuration describes."""
    from scavenger.data.configured import FORMATS, Divided, Reader

    if data["train"]["format"] in FORMATS:
        reader = Reader(data)
        file.make_dataset = reader
        file.collate = file.collate or reader.collate
    elif data.get("validation_share") and file.make_dataset is not None:
        file.make_dataset = Divided(file.make_dataset, float(data["validation_share"]))


def load(path: pathlib.Path, data: Optional[Mapping[str, Any]] = None) -> UserFile:
    """Import the file and find its functions; `data` is the configuration's. Raises UserError."""
    module = load_module(path)
    make_model = _function(module, "make_model", path)
    if make_model is None:
        raise UserError("there is no make_model()", str(path),
                        "define it: a function without arguments that returns a torch.nn.Module")
    file = UserFile(
        path=path,
        make_model=make_model,
        loss=_function(module, "loss", path),
        make_dataset=_function(module, "make_dataset", path),
        collate=_function(module, "collate", path),
        evaluate=_function(module, "evaluate", path),
        make_optimizer=_function(module, "make_optimizer", path),
        make_scheduler=_function(module, "make_scheduler", path),
        example_inputs=_function(module, "example_inputs", path),
    )
    if data is not None:
        _use_data(file, data)
    return file
