#include "runtime/torch/layers.h"

#include <ATen/ops/conv2d.h>

#include <cmath>

#include "runtime/torch/dense.h"

namespace scavenger {
namespace {

// U(-1/sqrt(fan_in), 1/sqrt(fan_in)), for weights and biases: what PyTorch's layers start from,
// which it writes as kaiming_uniform(a = sqrt(5)) (He et al., 2015, eq. 14).
InitialValues uniform_by_fan_in(std::int64_t fan_in) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
  return [bound](std::span<float> values, RandomStream& stream) {
    for (float& value : values) value = static_cast<float>(bound * (2.0 * stream.uniform() - 1.0));
  };
}

}  // namespace

DenseLayer::DenseLayer(Model& model, const std::string& prefix, std::int64_t inputs,
                       std::int64_t outputs)
    : weight_(
          model.add_parameter(prefix + ".weight", {outputs, inputs}, uniform_by_fan_in(inputs))),
      bias_(model.add_parameter(prefix + ".bias", {outputs}, uniform_by_fan_in(inputs))) {}

at::Tensor DenseLayer::operator()(const at::Tensor& x) const {
  return dense(x, weight_, bias_);
}

ConvolutionLayer::ConvolutionLayer(Model& model, const std::string& prefix, std::int64_t inputs,
                                   std::int64_t outputs)
    : weight_(model.add_parameter(prefix + ".weight", {outputs, inputs, 3, 3},
                                  uniform_by_fan_in(inputs * 9))),
      bias_(model.add_parameter(prefix + ".bias", {outputs}, uniform_by_fan_in(inputs * 9))) {}

at::Tensor ConvolutionLayer::operator()(const at::Tensor& x) const {
  return at::conv2d(x, weight_.tensor, bias_.tensor, /*stride=*/1, /*padding=*/1);
}

}  // namespace scavenger
