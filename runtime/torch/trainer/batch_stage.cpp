#include "runtime/torch/trainer/batch_stage.h"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

namespace scavenger {
BatchStage::BatchStage(const DataShape& shape, at::Device device, std::size_t most)
    : shape_(shape), device_(device), most_(most) {
  if (!device.is_cpu())
    side_stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

void BatchStage::bring(const Batch& batch) {
  Staged staged{batch.first_position, batch.size, batch.sample_shape, batch.target_shape, {}, {}};
  if (side_stream_) {
    const c10::StreamGuard aside(*side_stream_);  // and its device
    staged.tensors = raw_tensors_of(batch, shape_, 0, batch.size);
    for_each_tensor(staged.tensors, [&](at::Tensor& tensor) {
      tensor = tensor.pin_memory().to(device_, tensor.scalar_type(), /*non_blocking=*/true);
    });
    staged.tensors.prepare();
    staged.arrived.emplace(device_.type());
    staged.arrived->record(*side_stream_);
  } else {
    staged.tensors = raw_tensors_of(batch, shape_, 0, batch.size);
    for_each_tensor(staged.tensors, [](at::Tensor& tensor) { tensor = tensor.clone(); });
    staged.tensors.prepare();
  }
  const std::lock_guard lock(mutex_);
  if (staged_.size() == most_) staged_.pop_front();
  staged_.push_back(std::move(staged));
}

std::optional<BatchTensors> BatchStage::take(const Batch& batch) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < staged_.size(); ++i) {
    Staged& found = staged_[i];
    if (found.first_position != batch.first_position || found.size != batch.size ||
        found.sample_shape != batch.sample_shape || found.target_shape != batch.target_shape)
      continue;
    BatchTensors tensors = std::move(found.tensors);
    if (found.arrived) {
      const c10::Stream current = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
      found.arrived->block(current);
      for_each_tensor(tensors, [&](const at::Tensor& tensor) { tensor.record_stream(current); });
    }
    staged_.erase(staged_.begin(), staged_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return tensors;
  }
  return std::nullopt;
}

}  // namespace scavenger
