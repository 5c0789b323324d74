// Dropout (Srivastava et al., 2014) whose masks follow from the seed and the sample alone.
#pragma once

#include <cstdint>

#include "runtime/torch/model.h"

namespace scavenger {

// In training, each value is zero with probability `share`, and the others are scaled by
// 1 / (1 - share). What is dropped of a sample is decided by the sample's key (Model::use_keys),
// this layer's place among the model's dropout layers, and the value's index within the sample: not
// by who computes it, nor by how many others are in the batch, nor by the length they are padded
// to.
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
