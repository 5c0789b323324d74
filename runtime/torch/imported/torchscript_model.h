// A user's model in a TorchScript file.
#pragma once

#include <filesystem>
#include <memory>

#include "runtime/torch/layers/model.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// The module has forward(samples) -> outputs; for pairs of sequences forward(samples, targets
// without their last word); and, if the job uses the model's own loss, loss(samples, targets) ->
// scalar, the mean over samples. Its graph is not fused, so that results equal those of PyTorch in
// eager mode. Throws ConfigError if the file is not TorchScript or does not fit the data.
std::unique_ptr<Model> load_torchscript_model(const std::filesystem::path& path,
                                              const DataShape& data, bool has_own_loss);

}  // namespace scavenger
