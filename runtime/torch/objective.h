// What a job minimises, and what an evaluation counts, of a model's outputs.
#pragma once

#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>

#include "runtime/config/model_config.h"
#include "runtime/torch/batch_tensors.h"
#include "runtime/training/data_shape.h"
#include "runtime/training/evaluation_sums.h"

namespace scavenger {

// The losses of PyTorch: cross_entropy (with label smoothing), mse_loss, l1_loss,
// binary_cross_entropy_with_logits.
class Objective final {
 public:
  // Throws ConfigError for a loss that does not go with the data's targets.
  Objective(const LossConfig& loss, const DataShape& shape);

  // `outputs` as Model::forward() returns them -> what is compared with the targets: {n, classes},
  // or of the values' shape. Throws ConfigError where they are of another shape.
  at::Tensor predictions(const at::Tensor& outputs, const BatchTensors& batch) const;

  // The sum of all terms.
  at::Tensor loss_sum(const at::Tensor& predictions, const at::Tensor& targets) const;

  // All but `samples` and `bleu`; where the model has its own loss, also without `loss`.
  EvaluationSums evaluate(const at::Tensor& predictions, const at::Tensor& targets) const;

 private:
  at::Tensor loss(const at::Tensor& predictions, const at::Tensor& targets,
                  at::Reduction::Reduction reduction) const;

  LossType type_;
  double label_smoothing_;
  DataShape shape_;
};

}  // namespace scavenger
