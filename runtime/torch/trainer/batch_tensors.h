// A batch as tensors: the input of the model, and its targets.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "runtime/torch/layers/model.h"
#include "runtime/training/batch.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

struct BatchTensors {
  ModelInput input;
  at::Tensor targets;  // labels {n} (tokens: only the predicted ones), or values {b, ...}
};

// Returns rows [first, last) of the batch: views of its memory if that starts at a cache line, and
// copies otherwise or on another device. (MKL's results depend on alignment, so without copies two
// runs could differ by the addresses of their batches.) Requires a batch of this shape.
BatchTensors tensors_of(const Batch& batch, const DataShape& shape, std::uint32_t first,
                        std::uint32_t last, at::Device device);

}  // namespace scavenger
