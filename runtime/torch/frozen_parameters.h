// Parameters that are not trained: no gradient, no step, no weight decay, nothing to be sent.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/torch/model.h"

namespace scavenger {

// Takes the parameters whose names fit a pattern (runtime/base/pattern.h) out of the model's, and
// gives them their initial values. The model gets a buffer (kFrozenMark) with their SHA-256, by
// which a checkpoint knows with which ones it was trained. Throws ConfigError for a pattern that
// fits none, and where none would be left.
void freeze_parameters(const std::vector<std::string>& patterns, std::uint64_t seed, Model& model);

// Throws ConfigError where the model's mark is not the one that came with a checkpoint.
void require_frozen_as(const at::Tensor& mark, std::span<const float> stored);

}  // namespace scavenger
