// Parameters that are not trained: they have no gradient, no step and no weight decay, and are not
// sent.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/torch/layers/model.h"

namespace scavenger {

// Removes the parameters whose names match a pattern (runtime/checkpoint/pattern.h) from the
// model's parameters, and sets them to their initial values. Adds a buffer (kFrozenMark) with their
// SHA-256, so that a checkpoint identifies the frozen parameters it was trained with. Throws
// ConfigError if a pattern matches no parameter, or if no parameter would be left.
void freeze_parameters(const std::vector<std::string>& patterns, std::uint64_t seed, Model& model);

// Throws ConfigError if the model's mark differs from the one in a checkpoint.
void require_frozen_as(const at::Tensor& mark, std::span<const float> stored);

}  // namespace scavenger
