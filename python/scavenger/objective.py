"""The losses of the job's configuration, for models without a loss of their own, and evaluations."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Dict, Mapping, Tuple

import torch
from torch.nn import functional

from scavenger import Batch
from scavenger.problems import UserError

TOP_CLASSES = 5
PADDING = 0
SUMS = ("correct", "correct_in_top5", "predictions", "negative_log_likelihood", "squared_error")


@dataclasses.dataclass(frozen=True)
class DataShape:
    """What is known of the samples of one of Scavenger's own formats."""

    target: str  # label, values, next_tokens
    classes: int
    has_batches: bool  # of (inputs, targets); false: the user's own data set has any samples


@dataclasses.dataclass
class Sums:
    """The sums of an evaluation over the predictions of a batch."""

    predictions: int
    loss: float
    correct: int = 0
    correct_in_top5: int = 0
    negative_log_likelihood: float = 0.0
    squared_error: float = 0.0

    def add(self, other: "Sums") -> None:
        """Add the sums of other predictions."""
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


def outputs_of(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """Return what the model answers: a tensor, or the `logits` of its answer."""
    inputs = batch.inputs
    answer = model(**inputs) if isinstance(inputs, Mapping) else model(inputs)
    if isinstance(answer, Mapping) and "logits" in answer:
        answer = answer["logits"]
    answer = getattr(answer, "logits", answer)
    if not isinstance(answer, torch.Tensor):
        raise UserError(f"the model answers {type(answer).__name__}, not a tensor of predictions",
                        "", "define evaluate(model, batch), and loss(model, batch)")
    return answer


def predictions_of(answer: torch.Tensor, batch: Batch,
                   shape: DataShape) -> Tuple[torch.Tensor, torch.Tensor]:
    """Return rows of logits or values, and their targets; padding is left out."""
    targets = batch.targets
    if shape.target == "values":
        if answer.numel() != targets.numel():
            raise UserError(f"the model's output is {list(answer.shape)}, and should be "
                            f"{list(targets.shape)}", "", "make its last layer fit the targets")
        return answer.reshape(targets.shape).float(), targets
    rows, labels = answer.float(), targets
    if shape.target == "next_tokens" and rows.dim() == 3:
        rows, labels = rows.flatten(0, 1), labels.flatten()
        kept = labels != PADDING
        rows, labels = rows[kept], labels[kept]
    if rows.dim() != 2 or rows.shape[0] != labels.shape[0] or rows.shape[1] < shape.classes:
        raise UserError(f"the model's output is {list(answer.shape)}, and should be "
                        f"[{targets.shape[0]}, {shape.classes}]", "",
                        "make its last layer fit the data's classes")
    return rows, labels


def loss_of(rows: torch.Tensor, targets: torch.Tensor, config: Mapping[str, Any],
            shape: DataShape) -> torch.Tensor:
    """Return the mean of the configured loss."""
    kind = config.get("type", "auto")
    if kind == "auto":
        kind = "mse" if shape.target == "values" else "cross_entropy"
    if kind == "cross_entropy":
        return functional.cross_entropy(rows, targets,
                                        label_smoothing=config.get("label_smoothing", 0.0))
    if kind == "mse":
        return functional.mse_loss(rows, targets)
    if kind == "l1":
        return functional.l1_loss(rows, targets)
    return functional.binary_cross_entropy_with_logits(rows, targets)


def sums_of(rows: torch.Tensor, targets: torch.Tensor, mean_loss: float,
            shape: DataShape) -> Sums:
    """Return the sums over all predictions of a batch."""
    sums = Sums(predictions=targets.numel(), loss=mean_loss * targets.numel())
    if shape.target == "values":
        sums.squared_error = float(functional.mse_loss(rows, targets, reduction="sum"))
        sums.correct = int(((rows > 0) == (targets > 0.5)).sum())
        return sums
    sums.correct = int((rows.argmax(1) == targets).sum())
    if shape.classes > TOP_CLASSES:
        best = rows.topk(TOP_CLASSES, dim=1).indices
        sums.correct_in_top5 = int((best == targets.unsqueeze(1)).any(1).sum())
    sums.negative_log_likelihood = float(
        functional.cross_entropy(rows, targets, reduction="sum"))
    return sums


def sums_from(result: Any, size: int, mean_loss: float) -> Sums:
    """Return the sums of what a user's evaluate() has returned. Raises UserError."""
    if not isinstance(result, Mapping):
        raise UserError(f"evaluate() returned {type(result).__name__}, not a dictionary", "",
                        'return {"loss": mean, "correct": count}')
    unknown = set(result) - set(SUMS) - {"loss"}
    if unknown:
        raise UserError(f"evaluate() returned {', '.join(sorted(map(str, unknown)))}", "",
                        f"return some of loss, {', '.join(SUMS)}")
    numbers: Dict[str, float] = {name: _number(name, value) for name, value in result.items()}
    predictions = _count(numbers.pop("predictions", size), "predictions")
    if predictions == 0:
        raise UserError("evaluate() returned predictions = 0", "", "leave it out, or return a count")
    loss = numbers.pop("loss", mean_loss) * predictions
    sums = Sums(predictions=predictions, loss=loss)
    for name, value in numbers.items():
        if name.startswith("correct"):
            setattr(sums, name, _count(value, name, predictions))
        else:
            setattr(sums, name, value)
    return sums


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"evaluate() returned {name} = {str(value)[:40]}", "",
                        "return a number") from error


def _count(value: float, name: str, most: float = float("inf")) -> int:
    if 0 <= value <= most and math.isfinite(value) and value == int(value):
        return int(value)
    of_how_many = f" of {most:.0f} predictions" if math.isfinite(most) else ""
    raise UserError(f"evaluate() returned {name} = {value:.6g}{of_how_many}", "",
                    "return how many, not which part of them")
