#include "runtime/torch/layers/model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <functional>
#include <numeric>
#include <utility>

#include "runtime/base/error.h"

namespace scavenger {

std::int64_t output_count(const DataShape& data) {
  if (data.target != TargetKind::kValues) return data.classes;
  return std::accumulate(data.target_shape.begin(), data.target_shape.end(), std::int64_t{1},
                         std::multiplies<>());
}

void move_tensor(const at::Tensor& tensor, at::Device device) {
  const at::NoGradGuard no_gradients;
  tensor.set_data(tensor.to(device));
}

Parameter Model::add_parameter(std::string name, const std::vector<std::int64_t>& shape,
                               InitialValues initial_values) {
  return add_parameter(std::move(name), at::zeros(shape, at::kFloat), std::move(initial_values));
}

at::Tensor Model::add_buffer(std::string name, const std::vector<std::int64_t>& shape,
                             InitialValues initial_values) {
  at::Tensor tensor = at::zeros(shape, at::kFloat);
  buffers_.push_back({std::move(name), tensor, std::move(initial_values), buffers_.size()});
  return tensor;
}

Parameter Model::add_parameter(std::string name, at::Tensor tensor, InitialValues initial_values) {
  tensor.set_requires_grad(true);
  parameters_.push_back(
      {{std::move(name), std::move(tensor), std::move(initial_values), parameters_.size()},
       std::make_shared<GradientSlot>()});
  return parameters_.back();
}

void Model::for_each_tensor(const std::function<void(NamedTensor&)>& visit) {
  for (Parameter& parameter : parameters_) visit(parameter);
  for (NamedTensor& buffer : buffers_) visit(buffer);
}

std::vector<NamedTensor> Model::freeze(
    const std::function<bool(const std::string& name)>& is_frozen) {
  std::vector<NamedTensor> frozen;
  std::erase_if(parameters_, [&](Parameter& parameter) {
    if (!is_frozen(parameter.name)) return false;
    parameter.tensor.set_requires_grad(false);
    frozen.push_back(parameter);
    return true;
  });
  frozen_.insert(frozen_.end(), frozen.begin(), frozen.end());
  return frozen;
}

void Model::move_to(at::Device device) {
  for_each_tensor([device](NamedTensor& named) { move_tensor(named.tensor, device); });
  for (const NamedTensor& named : frozen_) move_tensor(named.tensor, device);
}

at::Tensor Model::own_loss(const ModelInput&, const at::Tensor&) {
  throw ConfigError({.what = "this model has no loss of its own",
                     .where = "loss.type",
                     .remedy = "name a loss: cross_entropy, mse, l1 or bce"});
}

std::vector<TokenSequence> Model::write_sequences(const at::Tensor&, std::int64_t) {
  throw ConfigError({.what = "this model writes no sequences, so there is nothing to compare",
                     .where = "stop.target.metric",
                     .remedy = "use the metric loss, or a transformer"});
}

}  // namespace scavenger
