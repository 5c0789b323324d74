"""Writes a trained model for scavenger-export: its state_dict, or ONNX."""

from __future__ import annotations

import json
import pathlib
import struct
import sys
from typing import Any, Dict, Mapping, Tuple

import torch

from scavenger import user_file
from scavenger.model_state import TYPES, make_module, plain_name
from scavenger.problems import UserError, blaming

EXAMPLES = 2  # samples; the exported model takes any number


def read_safetensors(path: pathlib.Path) -> Dict[str, torch.Tensor]:
    """Return the tensors of a file that scavenger-export has written."""
    types = {name: dtype for dtype, name in TYPES.items()}
    content = bytearray(path.read_bytes())
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + length])
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        raw = torch.frombuffer(content, dtype=torch.uint8, offset=8 + length + first,
                               count=last - first)
        found[name] = raw.clone().view(types[entry["dtype"]]).view(entry["shape"])
    return found


def load_trained(module: torch.nn.Module, trained: Mapping[str, torch.Tensor]) -> None:
    """Put the trained tensors into the module. Raises UserError if they are not all its own."""
    own = {plain_name(name): tensor for name, tensor in module.state_dict().items()}
    strange = sorted(set(trained) - set(own))
    if strange:
        raise UserError(f"the model has no {strange[0]}, which the job has trained", "make_model()",
                        "have it make the model of the job")
    for name, tensor in trained.items():
        if own[name].shape != tensor.shape:
            raise UserError(f"{name} is {list(own[name].shape)}, and the job trained "
                            f"{list(tensor.shape)}", "make_model()",
                            "have it make the model of the job")
        with torch.no_grad():
            own[name].copy_(tensor)


def example_inputs(file: user_file.UserFile, question: Mapping[str, Any]) -> Any:
    """Return what the model is called with, for a few samples: a tensor or a dictionary."""
    if file.example_inputs is not None:
        with blaming("example_inputs()"):
            found = file.example_inputs()
        parts = (list(found.values()) if isinstance(found, Mapping)
                 else list(found) if isinstance(found, tuple) else [found])
        if not parts or not all(isinstance(part, torch.Tensor) for part in parts):
            raise UserError(f"example_inputs() returned {type(found).__name__}, not tensors",
                            str(file.path), "return a tensor, a tuple or a dictionary of tensors")
        return found
    config = question["config"]
    if config["data"]["train"]["format"] in user_file.PYTHON_FORMATS[1:]:
        assert file.make_dataset is not None and file.collate is not None
        dataset = file.make_dataset("test")
        return file.collate([dataset[i] for i in range(min(EXAMPLES, len(dataset)))])[0]
    shape = question.get("data_shape") or {}
    if config["data"]["train"]["format"] == "python" or not shape.get("sample_shape"):
        raise UserError("ONNX needs inputs to follow through the model, and these data are your "
                        "own", str(file.path), "define example_inputs(), which returns a tensor or "
                        "a dictionary of tensors whose first dimension is samples")
    if shape.get("vocabulary"):
        return torch.zeros((EXAMPLES, *shape["sample_shape"]), dtype=torch.int64)
    return torch.zeros((EXAMPLES, *shape["sample_shape"]))


def _write_onnx(module: torch.nn.Module, inputs: Any, path: pathlib.Path) -> None:
    for library in ("onnx", "onnxscript"):
        try:
            __import__(library)
        except ImportError as error:
            raise UserError(f"ONNX is written with the library {library}: {error}", "",
                            "install it: python3 -m pip install onnx onnxscript") from error
    arguments: Tuple[Any, ...] = (inputs,)
    keywords: Dict[str, Any] = {}
    batch = torch.export.Dim("batch")
    if isinstance(inputs, Mapping):
        arguments, keywords = (), dict(inputs)
        shapes: Any = {name: {0: batch} for name in inputs}
    elif isinstance(inputs, tuple):
        arguments, shapes = inputs, tuple({0: batch} for _ in inputs)
    else:
        shapes = ({0: batch},)
    names = list(keywords) or [f"input{i}" if i else "input" for i in range(len(arguments))]
    with blaming("torch.onnx.export()"):
        torch.onnx.export(module, arguments, str(path), kwargs=keywords or None, dynamo=True,
                          input_names=names, dynamic_shapes=shapes, external_data=False,
                          verbose=False)


def export(question: Mapping[str, Any]) -> None:
    """Make the model and write it with the trained tensors. Raises UserError."""
    config = question["config"]
    path = pathlib.Path(question["file"])
    file = user_file.load(pathlib.Path(config["model"]["file"]), config["data"])
    with blaming("make_model()"):
        module = make_module(file.make_model, config["seed"])
    load_trained(module, read_safetensors(pathlib.Path(question["weights"])))
    module.eval()
    module = getattr(module, "_orig_mod", module)
    try:
        if question["to"] == "pytorch":
            torch.save({plain_name(name): tensor for name, tensor in module.state_dict().items()},
                       path)
        else:
            _write_onnx(module, example_inputs(file, question), path)
    except OSError as error:
        raise UserError(f"cannot write: {error}", str(path), "name another file") from error


def main() -> int:
    """Read the question from standard input; print what went wrong."""
    try:
        export(json.load(sys.stdin))
    except UserError as error:
        print(error.line())
        return 2
    return 0
