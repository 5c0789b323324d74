#include "runtime/torch/trainer/device_mirror.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstring>
#include <utility>

#include "runtime/base/check.h"

namespace scavenger {
namespace {

c10::Stream current_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

float* floats_of(const at::Tensor& tensor) {
  return tensor.data_ptr<float>();
}

}  // namespace

DeviceMirror::DeviceMirror(at::Device device, std::uint64_t flat_size) : device_(device) {
  const auto n = static_cast<std::int64_t>(flat_size);
  const auto on_device = at::TensorOptions().dtype(at::kFloat).device(device);
  const auto pinned = at::TensorOptions().dtype(at::kFloat).pinned_memory(!device.is_cpu());
  weights_ = at::zeros({n}, on_device);
  gradients_ = at::zeros({n}, on_device);  // so the gaps between tensors stay zero
  pinned_weights_ = at::empty({n}, pinned);
  pinned_gradients_ = at::empty({n}, pinned);
  if (!device.is_cpu())
    side_stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

DeviceMirror::~DeviceMirror() {
  for (const Departure& departure : under_way_)
    if (departure.arrived) departure.arrived->synchronize();
}

void DeviceMirror::bring_weights(std::span<const float> weights) {
  SCAVENGER_CHECK(std::cmp_equal(weights.size(), weights_.numel()));
  if (weights_left_) weights_left_->synchronize();
  std::memcpy(floats_of(pinned_weights_), weights.data(), weights.size_bytes());
  weights_.copy_(pinned_weights_, /*non_blocking=*/true);
  if (!side_stream_) return;
  weights_left_.emplace(device_.type());
  weights_left_->record(current_stream(device_));
}

void DeviceMirror::begin(std::span<float> gradients, const GradientReady& ready) {
  SCAVENGER_CHECK(std::cmp_equal(gradients.size(), gradients_.numel()));
  under_way_.clear();
  destination_ = gradients;
  ready_ = &ready;
}

void DeviceMirror::gradient_ready(std::uint64_t first, std::uint64_t last) {
  SCAVENGER_CHECK(ready_ != nullptr);
  const auto part = [&](const at::Tensor& flat) {
    return flat.narrow(0, static_cast<std::int64_t>(first),
                       static_cast<std::int64_t>(last - first));
  };
  Departure departure{first, last, std::nullopt};
  if (side_stream_) {
    c10::Event computed(device_.type());
    computed.record(current_stream(device_));
    computed.block(*side_stream_);
    const c10::StreamGuard aside(*side_stream_);
    part(pinned_gradients_).copy_(part(gradients_), /*non_blocking=*/true);
    departure.arrived.emplace(device_.type());
    departure.arrived->record(*side_stream_);
  } else {
    part(pinned_gradients_).copy_(part(gradients_));
  }
  under_way_.push_back(std::move(departure));
  tell_of_arrivals(false);
}

void DeviceMirror::finish() {
  tell_of_arrivals(true);
  ready_ = nullptr;
}

// Handles them in the order in which they were sent.
void DeviceMirror::tell_of_arrivals(bool wait) {
  for (; !under_way_.empty(); under_way_.pop_front()) {
    const Departure& next = under_way_.front();
    if (next.arrived && wait) next.arrived->synchronize();
    if (next.arrived && !next.arrived->query()) return;
    std::memcpy(destination_.data() + next.first, floats_of(pinned_gradients_) + next.first,
                (next.last - next.first) * sizeof(float));
    if (*ready_) (*ready_)(next.first, next.last);
  }
}

}  // namespace scavenger
