// Computes the loss of a job and the sums of an evaluation from a model's outputs.
#pragma once

#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>

#include "runtime/config/model_config.h"
#include "runtime/torch/trainer/batch_tensors.h"
#include "runtime/training/data_shape.h"
#include "runtime/training/evaluation_sums.h"

namespace scavenger {

// The losses of PyTorch: cross_entropy (with label smoothing), mse_loss, l1_loss,
// binary_cross_entropy_with_logits.
class Objective final {
 public:
  // Throws ConfigError if the loss does not fit the data's targets.
  Objective(const LossConfig& loss, const DataShape& shape);

  // Converts `outputs` of Model::forward() to predictions that are compared with the targets: {n,
  // classes}, or the shape of the values. Throws ConfigError if they have another shape.
  at::Tensor predictions(const at::Tensor& outputs, const BatchTensors& batch) const;

  // Returns the sum of all loss terms.
  at::Tensor loss_sum(const at::Tensor& predictions, const at::Tensor& targets) const;

  // Returns all sums but `samples` and `bleu`; and without `loss` if the model has its own loss.
  EvaluationSums evaluate(const at::Tensor& predictions, const at::Tensor& targets) const;

 private:
  at::Tensor loss(const at::Tensor& predictions, const at::Tensor& targets,
                  at::Reduction::Reduction reduction) const;

  LossType type_;
  double label_smoothing_;
  DataShape shape_;
};

}  // namespace scavenger
