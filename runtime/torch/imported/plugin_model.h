// A user's model in a shared library (model_plugin.h).
#pragma once

#include <filesystem>
#include <memory>

#include "runtime/torch/layers/model.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// Throws ConfigError if the library cannot be loaded, is not a plug-in, was built against another
// version, or does not fit the data. The library stays loaded until the process ends.
std::unique_ptr<Model> load_plugin_model(const std::filesystem::path& path, const DataShape& data,
                                         bool has_own_loss);

}  // namespace scavenger
