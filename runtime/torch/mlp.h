// The multi-layer perceptron: dense layers with ReLU between them.
#pragma once

#include <memory>

#include "runtime/config/job_config.h"
#include "runtime/torch/model.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// Samples of any shape are flattened. Answers logits of classes, or values: a regressor.
// Parameters: layers.<i>.weight, layers.<i>.bias.
std::unique_ptr<Model> make_mlp(const ModelConfig& config, const DataShape& data);

}  // namespace scavenger
