// Dropout (Srivastava et al., 2014) with masks that depend only on the seed and the sample.
#pragma once

#include <cstdint>

#include "runtime/torch/layers/model.h"

namespace scavenger {

// In training, each value is set to zero with probability `share`, and the others are scaled by 1 /
// (1 - share). The mask of a sample depends on the sample's key (Model::use_keys), this layer's
// index among the model's dropout layers, and the index of the value within the sample. It does not
// depend on the worker, the size of the batch, or the length of its padding.
class DropoutLayer final {
 public:
  DropoutLayer(Model& model, double share);
  // x {b, ...}: a row of the first dimension is a sample.
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  const Model& model_;
  double share_;
  std::uint32_t place_;
};

}  // namespace scavenger
