// A batch as tensors: the input of the model, and its targets.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "runtime/torch/device/prepared_images.h"
#include "runtime/torch/layers/model.h"
#include "runtime/training/batch.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

struct BatchTensors {
  ModelInput input;
  at::Tensor targets;  // labels {n} (tokens: only the predicted ones), or values {b, ...}
  // Until prepare(), in place of input.samples.
  RawImageTensors raw_images;

  // Makes the samples of raw images, on their device.
  void prepare();
};

// Calls `change` for each tensor that there is.
template <typename Change>
void for_each_tensor(BatchTensors& tensors, const Change& change) {
  ModelInput& input = tensors.input;
  RawImageTensors& raw = tensors.raw_images;
  for (at::Tensor* tensor : {&input.samples, &input.targets, &input.predicted, &tensors.targets,
                             &raw.pixels, &raw.changes, &raw.channels})
    if (tensor->defined()) change(*tensor);
}

// Returns rows [first, last) of the batch: views of its memory if that starts at a cache line, and
// copies otherwise or on another device. (MKL's results depend on alignment, so without copies two
// runs could differ by the addresses of their batches.) Requires a batch of this shape.
BatchTensors tensors_of(const Batch& batch, const DataShape& shape, std::uint32_t first,
                        std::uint32_t last, at::Device device);
// The same in host memory, and not prepared yet.
BatchTensors raw_tensors_of(const Batch& batch, const DataShape& shape, std::uint32_t first,
                            std::uint32_t last);

}  // namespace scavenger
