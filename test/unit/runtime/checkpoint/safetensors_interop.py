"""The Python side of python_interop_test.cpp.

Arguments: a checkpoint to print the tensors of, and a file to write tensors of every type to.
"""

import hashlib
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file


def description(tensor: torch.Tensor) -> dict:
    return {
        "dtype": str(tensor.dtype),
        "shape": list(tensor.shape),
        "sha256": hashlib.sha256(tensor.contiguous().numpy().tobytes()).hexdigest(),
    }


def describe(folder: Path) -> None:
    names = ["weights.safetensors", "optimizer.safetensors"]
    print(json.dumps({name: {key: description(tensor) for key, tensor in load_file(folder / name).items()}
                      for name in names}))


def write(path: Path) -> None:
    tensors = {
        "f32": torch.arange(6, dtype=torch.float32).reshape(2, 3),
        "f64": torch.tensor([0.1, -0.2], dtype=torch.float64),
        "i64": torch.tensor([-1, 1 << 40]),
        "u8": torch.tensor([0, 255], dtype=torch.uint8),
        "bool": torch.tensor([True, False, True]),
        "f16": torch.ones(1, dtype=torch.float16),
        "bf16": torch.ones(1, dtype=torch.bfloat16),
        "scalar": torch.tensor(3.0),
        "empty": torch.zeros(0, 4),
    }
    save_file(tensors, path, metadata={"author": "python"})


if __name__ == "__main__":
    describe(Path(sys.argv[1]))
    write(Path(sys.argv[2]))
