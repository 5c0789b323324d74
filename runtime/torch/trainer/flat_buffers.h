// A model's buffers as views of one flat vector, so that all of them are read, written and kept
// with one copy, wherever they are.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "runtime/torch/layers/model.h"
#include "runtime/training/tensor_layout.h"

namespace scavenger {

// Thread: one at a time.
class FlatBuffers final {
 public:
  // Makes the buffers views of a vector of this layout, on their device, with their content.
  FlatBuffers(const std::vector<NamedTensor>& buffers, const TensorLayout& layout);

  // In host memory; both wait for the device.
  void read(std::span<float> destination) const;
  void write(std::span<const float> source);

  // Returns a copy on the same device, without waiting for it.
  at::Tensor copy() const { return flat_.clone(); }
  void restore(const at::Tensor& copied) { flat_.copy_(copied); }
  // The same with a copy that it keeps.
  void keep();
  void read_kept(std::span<float> destination) const;

 private:
  const TensorLayout& layout_;
  at::Tensor flat_;
  at::Tensor kept_;
};

}  // namespace scavenger
