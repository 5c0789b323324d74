// The multi-layer perceptron: dense layers with ReLU between them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/torch/model.h"

namespace scavenger {

// Samples of any shape are flattened. Parameters: layers.<i>.weight, layers.<i>.bias.
std::unique_ptr<Model> make_mlp(const ModelConfig& config,
                                const std::vector<std::int64_t>& sample_shape,
                                std::int64_t classes);

}  // namespace scavenger
