#include "runtime/torch/layers/layers.h"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>

#include "runtime/torch/layers/dense.h"
#include "runtime/torch/layers/initial_values.h"

namespace scavenger {
namespace {

std::int64_t area(const ConvolutionShape& shape) {
  return shape.kernel * shape.kernel;
}

std::vector<std::int64_t> weight_shape(const ConvolutionShape& shape) {
  return {shape.outputs, shape.inputs, shape.kernel, shape.kernel};
}

// Convolutions are fastest in channels-last order, in which oneDNN computes on the images without
// rearranging them. It must then rearrange the weights, which checkpoints and gradients keep in
// channels-first order. The order is therefore chosen such that the larger of the two is not
// rearranged. A GPU rearranges both in a negligible part of a pass: there the order is the same for
// all layers (ModelTrainer).
at::Tensor in_order(ImageOrder order, const at::Tensor& x, const at::Tensor& weight) {
  const bool channels_last = order == ImageOrder::kAutomatic ? x.numel() > weight.numel()
                                                             : order == ImageOrder::kChannelsLast;
  return x.contiguous(channels_last ? at::MemoryFormat::ChannelsLast
                                    : at::MemoryFormat::Contiguous);
}

constexpr double kRunningShare = 0.1;  // PyTorch's defaults
constexpr double kVarianceFloor = 1e-5;

}  // namespace

DenseLayer::DenseLayer(Model& model, const std::string& prefix, std::int64_t inputs,
                       std::int64_t outputs)
    : weight_(
          model.add_parameter(prefix + ".weight", {outputs, inputs}, uniform_by_fan_in(inputs))),
      bias_(model.add_parameter(prefix + ".bias", {outputs}, uniform_by_fan_in(inputs))) {}

at::Tensor DenseLayer::operator()(const at::Tensor& x) const {
  return dense(x, weight_, bias_);
}

ConvolutionLayer::ConvolutionLayer(Model& model, const std::string& prefix,
                                   const ConvolutionShape& shape)
    : model_(model),
      weight_(model.add_parameter(prefix + ".weight", weight_shape(shape),
                                  uniform_by_fan_in(shape.inputs * area(shape)))),
      bias_(model.add_parameter(prefix + ".bias", {shape.outputs},
                                uniform_by_fan_in(shape.inputs * area(shape)))),
      stride_(shape.stride) {}

at::Tensor ConvolutionLayer::operator()(const at::Tensor& x) const {
  return at::conv2d(in_order(model_.image_order(), x, weight_.tensor), weight_.tensor, bias_.tensor,
                    stride_, weight_.tensor.size(2) / 2);
}

UnbiasedConvolutionLayer::UnbiasedConvolutionLayer(Model& model, const std::string& prefix,
                                                   const ConvolutionShape& shape)
    : model_(model),
      weight_(model.add_parameter(prefix + ".weight", weight_shape(shape),
                                  normal_by_fan_out(shape.outputs * area(shape)))),
      stride_(shape.stride) {}

at::Tensor UnbiasedConvolutionLayer::operator()(const at::Tensor& x) const {
  return at::conv2d(in_order(model_.image_order(), x, weight_.tensor), weight_.tensor, {}, stride_,
                    weight_.tensor.size(2) / 2);
}

BatchNormLayer::BatchNormLayer(Model& model, const std::string& prefix, std::int64_t channels)
    : model_(model),
      weight_(model.add_parameter(prefix + ".weight", {channels}, all_equal(1.0f))),
      bias_(model.add_parameter(prefix + ".bias", {channels}, all_equal(0.0f))),
      running_mean_(model.add_buffer(prefix + ".running_mean", {channels}, all_equal(0.0f))),
      running_variance_(model.add_buffer(prefix + ".running_var", {channels}, all_equal(1.0f))) {}

at::Tensor BatchNormLayer::operator()(const at::Tensor& x) const {
  return at::batch_norm(x, weight_.tensor, bias_.tensor, running_mean_, running_variance_,
                        model_.training(), kRunningShare, kVarianceFloor, /*cudnn_enabled=*/true);
}

}  // namespace scavenger
