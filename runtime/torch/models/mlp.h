// The multi-layer perceptron: dense layers with ReLU or tanh between them.
#pragma once

#include <memory>

#include "runtime/config/job_config.h"
#include "runtime/torch/layers/model.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// Flattens samples of any shape. The output is logits of classes, or values for regression.
// Parameters: layers.<i>.weight, layers.<i>.bias.
std::unique_ptr<Model> make_mlp(const ModelConfig& config, const DataShape& data);

}  // namespace scavenger
