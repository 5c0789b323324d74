// Dropout (Srivastava et al., 2014) with masks that depend only on the seed and the sample.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/torch/layers/model.h"

namespace scavenger {

// What determines a sample's mask in one layer.
struct MaskKey {
  std::uint32_t key = 0;
  std::uint32_t step = 1;  // odd: the hash of i * step + key then visits all 32-bit numbers
};
MaskKey mask_key(std::uint64_t sample_key, std::uint32_t layer);

// Two ways to compute the same mask {keys, row}, to the bit: 0 with probability `share`, otherwise
// 1 / (1 - share). One for the CPU; one made of LibTorch's operators of 32-bit integers, for any
// device. `keys` {2, n}, of int32 and on the device, holds `key` and `step` of each sample.
at::Tensor mask_on_cpu(std::span<const MaskKey> keys, std::uint32_t row, double share);
at::Tensor mask_by_operators(const at::Tensor& keys, std::uint32_t row, double share);

// Returns what mask_by_operators() needs for each layer, {layers, 2, samples} of int32 on `device`,
// from the model's keys: one copy for each pass. The host does not wait for it.
at::Tensor dropout_keys_on(at::Device device, const Model& model);

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
  at::Tensor mask_for(const at::Tensor& x) const;

  const Model& model_;
  double share_;
  std::uint32_t place_;
};

}  // namespace scavenger
