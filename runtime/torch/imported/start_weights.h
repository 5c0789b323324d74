// Fine-tuning: initial weights from a safetensors file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/torch/layers/model.h"

namespace scavenger {

// Makes the file's tensors the initial values of the model's parameters and buffers of the same
// names. Those that match a pattern of `except` keep their usual initial values. Ignores batch
// counters (num_batches_tracked), which built-in models do not have. Throws ConfigError, which
// lists the tensors that the file lacks, that the model lacks, or that have another shape or type.
void start_from(const std::filesystem::path& path, const std::vector<std::string>& except,
                Model& model);

}  // namespace scavenger
