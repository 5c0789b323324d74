// All models that a configuration can name.
#pragma once

#include <memory>

#include "runtime/config/job_config.h"
#include "runtime/torch/layers/model.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// Throws ConfigError if the model does not fit the data.
std::unique_ptr<Model> make_model(const ModelConfig& config, const DataShape& data,
                                  const LossConfig& loss);

}  // namespace scavenger
