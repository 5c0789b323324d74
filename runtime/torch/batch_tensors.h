// A batch as tensors: what the model is given, and what it should have answered.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "runtime/torch/model.h"
#include "runtime/training/batch.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

struct BatchTensors {
  ModelInput input;
  at::Tensor targets;  // labels {n}, where tokens only those to be predicted; or values {b, ...}
};

// Rows [first, last) of the batch, as views of its memory where that starts a cache line. Elsewhere
// copies: MKL's results depend on alignment, and so two runs would differ by where their batches
// happen to lie. Copies on another device, too. Requires a batch of this shape.
BatchTensors tensors_of(const Batch& batch, const DataShape& shape, std::uint32_t first,
                        std::uint32_t last, at::Device device);

}  // namespace scavenger
