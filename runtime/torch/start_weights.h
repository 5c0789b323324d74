// Fine-tuning: weights from a safetensors file as a model's initial values.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/torch/model.h"

namespace scavenger {

// Makes the file's tensors the initial values of the model's parameters and buffers of the same
// names. Those that fit a pattern of `except` start as always. Throws ConfigError that lists by
// name what the file lacks, what the model lacks, and what has another shape or type; counters of
// batches (num_batches_tracked), which built-in models do not have, are passed over.
void start_from(const std::filesystem::path& path, const std::vector<std::string>& except,
                Model& model);

}  // namespace scavenger
