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

// A 3x3 convolution, zero-padded by 1: {b, inputs, h, w} -> {b, outputs, h, w}.
class ConvolutionLayer final {
 public:
  ConvolutionLayer(Model& model, const std::string& prefix, std::int64_t inputs,
                   std::int64_t outputs);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  Parameter weight_;  // {outputs, inputs, 3, 3}
  Parameter bias_;    // {outputs}
};

}  // namespace scavenger
