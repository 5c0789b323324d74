"""Text as tokens, by a tokenizer of Hugging Face."""

from __future__ import annotations

import pathlib
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import numpy
import torch

from scavenger import Batch
from scavenger.data.sources import require
from scavenger.problems import UserError

PADDING_NAMES = ("[PAD]", "<pad>", "<|padding|>", "<|endoftext|>", "</s>")
AT_ONCE = 1000  # texts


class TokenizerFile:
    """A tokenizer.json."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.path = pathlib.Path(config["file"])
        tokenizers = require("tokenizers", "a tokenizer")
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(self.path))
        except Exception as error:  # the library raises Exception itself
            raise UserError(f"this is no tokenizer: {error}", str(self.path),
                            "name a tokenizer.json of Hugging Face") from error
        padding = self._tokenizer.padding
        self.padding = padding["pad_id"] if padding else self._padding_token()
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(int(config.get("max_tokens", 128)))

    def _padding_token(self) -> int:
        for name in PADDING_NAMES:
            number = self._tokenizer.token_to_id(name)
            if number is not None:
                return int(number)
        return 0

    def encode(self, texts: Sequence[Any], place: Any) -> Dict[str, numpy.ndarray]:
        """Return the tokens of all texts, one after another, and where each begins."""
        for row, text in enumerate(texts):
            if not isinstance(text, str):
                raise UserError(f"this is no text: {text}", place(row), "correct it, or set "
                                'data.columns.missing to "drop"')
        starts = numpy.zeros(len(texts) + 1, dtype=numpy.int64)
        parts: List[numpy.ndarray] = []
        for first in range(0, len(texts), AT_ONCE):
            found = self._tokenizer.encode_batch(list(texts[first:first + AT_ONCE]))
            for offset, encoding in enumerate(found, first):
                starts[offset + 1] = starts[offset] + len(encoding.ids)
            parts += [numpy.array(encoding.ids, dtype=numpy.int32) for encoding in found]
        return {"tokens": numpy.concatenate(parts) if parts else numpy.zeros(0, numpy.int32),
                "starts": starts}


class Texts:
    """Tokens of texts with their targets."""

    def __init__(self, tokens: numpy.ndarray, starts: numpy.ndarray, targets: numpy.ndarray,
                 padding: int) -> None:
        self._tokens = tokens
        self._starts = starts
        self._targets = torch.from_numpy(numpy.array(targets))
        self._padding = padding

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self._targets)

    def __getitem__(self, index: int) -> Tuple[torch.Tensor, torch.Tensor]:
        """Return (tokens, target)."""
        first, last = self._starts[index], self._starts[index + 1]
        tokens = numpy.array(self._tokens[first:last], dtype=numpy.int64)
        return torch.from_numpy(tokens), self._targets[index]

    def collate(self, samples: Sequence[Tuple[torch.Tensor, torch.Tensor]]) -> Batch:
        """Return inputs for a model of Hugging Face; texts are padded to the longest."""
        longest = max(1, max(len(tokens) for tokens, _ in samples))
        tokens = torch.full((len(samples), longest), self._padding, dtype=torch.int64)
        mask = torch.zeros((len(samples), longest), dtype=torch.int64)
        for row, (sample, _) in enumerate(samples):
            tokens[row, :len(sample)] = sample
            mask[row, :len(sample)] = 1
        targets = torch.stack([target for _, target in samples])
        return Batch({"input_ids": tokens, "attention_mask": mask}, targets)
