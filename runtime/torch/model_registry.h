// Every model that a configuration can name, in one place.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/torch/model.h"

namespace scavenger {

// Throws ConfigError where the model does not fit the shape of the samples.
std::unique_ptr<Model> make_model(const ModelConfig& config,
                                  const std::vector<std::int64_t>& sample_shape,
                                  std::int64_t classes);

}  // namespace scavenger
