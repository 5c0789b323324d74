#include "runtime/training/parameter_groups.h"

#include <algorithm>

namespace scavenger {
namespace {

std::string layer_of(const std::string& tensor) {
  const auto dot = tensor.rfind('.');
  return dot == std::string::npos ? tensor : tensor.substr(0, dot);
}

}  // namespace

std::vector<ParameterGroup> group_by_layer(const TensorLayout& layout) {
  std::vector<ParameterGroup> groups;
  for (const TensorPlace& tensor : layout.tensors()) {
    const std::string name = layer_of(tensor.name);
    auto group = std::ranges::find(groups, name, &ParameterGroup::name);
    if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
    group->ranges.push_back({tensor.offset, tensor.size});
  }
  return groups;
}

std::vector<ParameterGroup> one_group(const TensorLayout& layout) {
  return {{"", {{0, layout.flat_size()}}}};
}

}  // namespace scavenger
