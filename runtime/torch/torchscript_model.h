// A user's model in a TorchScript file: a black box with tensors in it.
#pragma once

#include <filesystem>
#include <memory>

#include "runtime/torch/model.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// forward(samples) -> outputs; of sequence pairs forward(samples, targets without their last word);
// where the job's loss is the model's own, loss(samples, targets) -> scalar, the mean over samples.
// Its graph is run as it is written, not fused, so that results are those of PyTorch in eager mode.
// Throws ConfigError where the file is no TorchScript or does not fit the data.
std::unique_ptr<Model> load_torchscript_model(const std::filesystem::path& path,
                                              const DataShape& data, bool has_own_loss);

}  // namespace scavenger
