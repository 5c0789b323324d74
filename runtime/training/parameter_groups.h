// Groups a model's parameters by layer, so that gradient noise can be measured for each layer.
#pragma once

#include <string>
#include <vector>

#include "runtime/training/flat_range.h"
#include "runtime/training/tensor_layout.h"

namespace scavenger {

struct ParameterGroup {
  std::string name;  // "layers.0" for "layers.0.weight" and "layers.0.bias"
  std::vector<FlatRange> ranges;
};

// Returns one group per layer, in the order of their first tensors.
std::vector<ParameterGroup> group_by_layer(const TensorLayout& layout);
// Returns one group of all tensors, named "".
std::vector<ParameterGroup> one_group(const TensorLayout& layout);

}  // namespace scavenger
