"""The Trainer of Hugging Face's transformers, whose training loop is a Scavenger job.

    trainer = scavenger.huggingface.Trainer(model=model, args=arguments, train_dataset=...)
    trainer.train()

in a script that scavenger-train runs. Batch sizes and intervals of `arguments` are those of all
workers together. Checkpoints, resumes and the order of the samples are the job's.
"""

from __future__ import annotations

import math
from typing import Any, Dict, Mapping, Optional, Tuple, Union

import torch
import transformers
from transformers.trainer_utils import TrainOutput

from scavenger import script
from scavenger.problems import UserError


def _schedule_of(arguments: transformers.TrainingArguments) -> Optional[Mapping[str, Any]]:
    """Return the parameter server's schedule, which may be none, or None if it has no such one."""
    kind = getattr(arguments.lr_scheduler_type, "value", arguments.lr_scheduler_type)
    if arguments.warmup_steps or getattr(arguments, "warmup_ratio", None):  # the latter until 5.0
        return None
    if kind == "constant":
        return {}
    if kind == "cosine" and arguments.max_steps <= 0:
        return {"type": "cosine", "total_epochs": float(arguments.num_train_epochs)}
    return None


def _require_offered(arguments: transformers.TrainingArguments) -> None:
    if arguments.gradient_accumulation_steps != 1:
        raise UserError("gradient_accumulation_steps are not offered", "TrainingArguments",
                        "use a larger per_device_train_batch_size: it is that of all workers")
    for name in ("fp16", "bf16"):
        if getattr(arguments, name, False):
            raise UserError(f"{name} is not offered", "TrainingArguments", "leave it out")


class Trainer(transformers.Trainer):
    """Trains as a job of Scavenger. Callbacks hear of the training's begin, steps, logs and end."""

    def train(self, resume_from_checkpoint: Union[str, bool, None] = None, trial: Any = None,
              ignore_keys_for_eval: Any = None, **_: Any) -> TrainOutput:
        """Train until the job ends. It is the job that resumes: `scavenger-train --resume RUN`."""
        if resume_from_checkpoint:
            raise UserError("train(resume_from_checkpoint) was called", "",
                            "use scavenger-train --resume RUN")
        arguments = self.args
        _require_offered(arguments)
        optimizer = self.create_optimizer() or self.optimizer
        schedule, scheduler = self.scheduling(optimizer)
        script.prepare(self.model, optimizer, clip_norm=arguments.max_grad_norm or None,
                       schedule=schedule or None, scheduler=scheduler)
        # As the Trainer does: what the model does not take, such as text, is left out of batches.
        collator = self._get_collator_with_removed_columns(self.data_collator)
        if self.eval_dataset is not None:
            script.evaluate(self._mean_loss, self.eval_dataset,
                            arguments.per_device_eval_batch_size, collator)
        has_steps = arguments.max_steps > 0
        batches = script.loader(
            self.train_dataset, arguments.per_device_train_batch_size, collator,
            epochs=None if has_steps else float(arguments.num_train_epochs),
            max_iterations=arguments.max_steps if has_steps else None)
        self._tell("on_train_begin")
        sums: Dict[str, float] = {"loss": 0.0, "steps": 0.0}
        for batch in batches:
            self._train_on(batch, sums)
        self.state.is_world_process_zero = script.place_value("rank") == 0
        self._tell("on_train_end")
        mean = sums["loss"] / max(1.0, sums["steps"])
        return TrainOutput(self.state.global_step, mean, {"train_loss": mean})

    def scheduling(self, optimizer: torch.optim.Optimizer
                   ) -> Tuple[Optional[Mapping[str, Any]], Any]:
        """Return the parameter server's schedule, or else the scheduler, which workers step.

        A scheduler that was given to the Trainer, or that a subclass makes, counts before the
        arguments.
        """
        is_own = (self.lr_scheduler is not None
                  or type(self).create_scheduler is not transformers.Trainer.create_scheduler)
        schedule = None if is_own else _schedule_of(self.args)
        if schedule is not None:
            return schedule, None
        return None, self.create_scheduler(self._iterations(), optimizer) or self.lr_scheduler

    def _iterations(self) -> int:
        """Return how many the schedule is made for."""
        arguments = self.args
        if arguments.max_steps > 0:
            return int(arguments.max_steps)
        batch_size = arguments.per_device_train_batch_size
        return math.ceil(arguments.num_train_epochs * len(self.train_dataset) / batch_size)

    def _mean_loss(self, batch: Any) -> torch.Tensor:
        loss = self.compute_loss(self.model, script.on_device(batch))
        return loss[0] if isinstance(loss, tuple) else loss

    def _train_on(self, batch: Any, sums: Dict[str, float]) -> None:
        self.model.train()
        iteration = int(script.place_value("iteration"))
        self.state.is_world_process_zero = script.place_value("rank") == 0
        self.state.epoch = script.place_value("epoch")
        self._tell("on_step_begin")
        loss = self._mean_loss(batch)
        if not script.step(loss):
            return
        sums["loss"] += float(loss.detach())
        sums["steps"] += 1
        self.state.global_step = iteration + 1
        self._tell("on_step_end")
        every = self.args.logging_steps
        if every and every >= 1 and (iteration + 1) % int(every) == 0:
            self._say({"loss": float(loss.detach())})

    def _say(self, values: Dict[str, float]) -> None:
        script.log(values)
        if self.state.is_world_process_zero:
            self.log(values)

    def _tell(self, event: str) -> None:
        self.control = getattr(self.callback_handler, event)(self.args, self.state, self.control)
