#include "runtime/torch/model.h"

#include <ATen/ops/zeros.h>

#include <utility>

namespace scavenger {

Parameter Model::add_parameter(std::string name, const std::vector<std::int64_t>& shape,
                               InitialValues initial_values) {
  at::Tensor tensor = at::zeros(shape, at::kFloat);
  tensor.set_requires_grad(true);
  parameters_.push_back(
      {{std::move(name), tensor, std::move(initial_values)}, std::make_shared<GradientSlot>()});
  return parameters_.back();
}

at::Tensor Model::add_buffer(std::string name, const std::vector<std::int64_t>& shape,
                             InitialValues initial_values) {
  at::Tensor tensor = at::zeros(shape, at::kFloat);
  buffers_.push_back({std::move(name), tensor, std::move(initial_values)});
  return tensor;
}

}  // namespace scavenger
