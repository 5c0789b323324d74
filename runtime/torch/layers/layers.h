// Layers with parameters. Each adds its tensors to the model under `prefix`, with PyTorch's names,
// shapes and distributions of initial values.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/torch/layers/model.h"

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
  std::int64_t kernel = 3;   // side of the kernel; odd
  std::int64_t stride = 1;
};

// A convolution, zero-padded so that stride 1 keeps the image's size: {b, inputs, h, w} ->
// {b, outputs, ceil(h / stride), ceil(w / stride)}.
class ConvolutionLayer final {
 public:
  ConvolutionLayer(Model& model, const std::string& prefix, const ConvolutionShape& shape);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  const Model& model_;
  Parameter weight_;  // {outputs, inputs, kernel, kernel}
  Parameter bias_;    // {outputs}
  std::int64_t stride_;
};

// A convolution without bias, for use before a batch normalisation, which would remove the bias.
// Initial weights are N(0, 2 / (outputs kernel^2)): He et al., 2015, sec. 2.2, which keeps the
// variance of gradients that pass back through a ReLU.
class UnbiasedConvolutionLayer final {
 public:
  UnbiasedConvolutionLayer(Model& model, const std::string& prefix, const ConvolutionShape& shape);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  const Model& model_;
  Parameter weight_;  // {outputs, inputs, kernel, kernel}
  std::int64_t stride_;
};

// Batch normalisation (Ioffe and Szegedy, 2015) of each channel of {b, channels, h, w}. Training
// uses the batch's mean and variance, and moves the running statistics (model buffers) a tenth of
// the way towards them; evaluation uses the running statistics. The batch is the worker's own, of
// b_k samples.
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
