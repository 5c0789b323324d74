// Brings batches to a device ahead of their use: copied to pinned memory, from which the device
// fetches them by itself, while it computes earlier iterations.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/torch/trainer/batch_tensors.h"
#include "runtime/training/batch.h"
#include "runtime/training/data_shape.h"

namespace scavenger {

// Thread: bring() by one, take() by another.
class BatchStage final {
 public:
  // Holds at most `most` batches; the oldest one makes way.
  BatchStage(const DataShape& shape, at::Device device, std::size_t most);

  // Begins to bring the batch, which may change when this returns.
  void bring(const Batch& batch);
  // Returns the batch's tensors if they were brought, and forgets those of batches before it. The
  // current stream waits for them; the host does not.
  std::optional<BatchTensors> take(const Batch& batch);

 private:
  struct Staged {
    std::uint64_t first_position = 0;
    std::uint32_t size = 0;
    std::vector<std::int64_t> sample_shape, target_shape;
    BatchTensors tensors;
    std::optional<c10::Event> arrived;  // none: it has arrived
  };

  const DataShape shape_;
  const at::Device device_;
  const std::size_t most_;
  std::optional<c10::Stream> side_stream_;  // none on the CPU
  std::mutex mutex_;
  std::deque<Staged> staged_;
};

}  // namespace scavenger
