// Layers with parameters, which models are put together from. Each adds its tensors to the model
// under `prefix`, with PyTorch's names, shapes and distributions of initial values.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/torch/model.h"

namespace scavenger {

// y = x W^T + b; x {b, inputs} -> {b, outputs}.
class DenseLayer final {
 public:
  DenseLayer(Model& model, const std::string& prefix, std::int64_t inputs, std::int64_t outputs);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  Parameter weight_;  // {outputs, inputs}
  Parameter bias_;    // {outputs}
};

struct ConvolutionShape {
  std::int64_t inputs = 0;   // channels
  std::int64_t outputs = 0;  // channels
  std::int64_t kernel = 3;   // its side, odd
  std::int64_t stride = 1;
};

// A convolution, zero-padded so that stride 1 keeps the image's size: {b, inputs, h, w} ->
// {b, outputs, ceil(h / stride), ceil(w / stride)}.
class ConvolutionLayer final {
 public:
  ConvolutionLayer(Model& model, const std::string& prefix, const ConvolutionShape& shape);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  Parameter weight_;  // {outputs, inputs, kernel, kernel}
  Parameter bias_;    // {outputs}
  std::int64_t stride_;
};

// The same without a bias, for where a batch normalisation follows, which would take it out again.
// Starts from N(0, 2 / (outputs kernel^2)): He et al., 2015, sec. 2.2, which keeps the variance of
// what flows back through a ReLU.
class UnbiasedConvolutionLayer final {
 public:
  UnbiasedConvolutionLayer(Model& model, const std::string& prefix, const ConvolutionShape& shape);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  Parameter weight_;  // {outputs, inputs, kernel, kernel}
  std::int64_t stride_;
};

// Batch normalisation (Ioffe and Szegedy, 2015) of each channel of {b, channels, h, w}: by the
// batch's mean and variance in training, which also move the running statistics (model buffers) a
// tenth of the way; by those in evaluation. The batch is the worker's own, b_k samples.
class BatchNormLayer final {
 public:
  BatchNormLayer(Model& model, const std::string& prefix, std::int64_t channels);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  const Model& model_;
  Parameter weight_;  // {channels}
  Parameter bias_;    // {channels}
  at::Tensor running_mean_;
  at::Tensor running_variance_;
};

}  // namespace scavenger
