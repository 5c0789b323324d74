// A model's layers as groups of its parameters: gradient noise can be told for each.
#pragma once

#include <string>
#include <vector>

#include "runtime/training/flat_range.h"
#include "runtime/training/tensor_layout.h"

namespace scavenger {

struct ParameterGroup {
  std::string name;  // "layers.0", of "layers.0.weight" and "layers.0.bias"
  std::vector<FlatRange> ranges;
};

// One group per layer, in the order of their first tensors.
std::vector<ParameterGroup> group_by_layer(const TensorLayout& layout);
// One group, named "", of all tensors.
std::vector<ParameterGroup> one_group(const TensorLayout& layout);

}  // namespace scavenger
