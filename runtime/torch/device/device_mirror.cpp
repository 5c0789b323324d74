#include "runtime/torch/device/device_mirror.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "runtime/base/check.h"

namespace scavenger {
namespace {

c10::Stream current_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

at::Tensor part_of(const at::Tensor& flat, std::uint64_t first, std::uint64_t last) {
  return flat.narrow(0, static_cast<std::int64_t>(first), static_cast<std::int64_t>(last - first));
}

at::Tensor view_of(std::span<float> vector) {
  return at::from_blob(vector.data(), {static_cast<std::int64_t>(vector.size())}, at::kFloat);
}

}  // namespace

DeviceMirror::DeviceMirror(at::Device device, std::uint64_t flat_size, HostPinning pinning,
                           std::uint64_t piece_floats)
    : device_(device), pinning_(std::move(pinning)), piece_floats_(piece_floats) {
  const auto n = static_cast<std::int64_t>(flat_size);
  const auto on_device = at::TensorOptions().dtype(at::kFloat).device(device);
  weights_ = at::zeros({n}, on_device);
  gradients_ = at::zeros({n}, on_device);  // so the gaps between tensors stay zero
  if (!device.is_cpu())
    side_stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

DeviceMirror::~DeviceMirror() {
  release();
}

// ---- Memory of the host. ----

// A vector that cannot be pinned is not tried again.
bool DeviceMirror::is_pinned(std::span<float> vector) {
  const auto [known, is_new] = vectors_.try_emplace(vector.data(), false);
  if (is_new) known->second = pinning_.pin(vector.data(), vector.size_bytes());
  return known->second;
}

at::Tensor DeviceMirror::beside(at::Tensor& pinned) {
  if (!pinned.defined())
    pinned = at::empty(weights_.sizes(),
                       at::TensorOptions().dtype(at::kFloat).pinned_memory(!device_.is_cpu()));
  return pinned;
}

void DeviceMirror::drop_arrivals() {
  for (; !under_way_.empty(); under_way_.pop_front())
    if (under_way_.front().arrived) under_way_.front().arrived->synchronize();
}

// Destructors call it while an error of the device is on its way up, which must not be lost: a
// device that has failed says so again here, and copies nothing any more.
void DeviceMirror::release() noexcept {
  try {
    await_weights();
    drop_arrivals();
  } catch (const std::exception&) {
    under_way_.clear();
  }
  for (const auto& [vector, was_pinned] : vectors_)
    if (was_pinned) pinning_.release(vector);
  vectors_.clear();
  destination_ = {};
}

// ---- Weights. ----

void DeviceMirror::await_weights() {
  if (weights_left_) weights_left_->synchronize();
}

void DeviceMirror::bring_weights(std::span<float> weights) {
  SCAVENGER_CHECK(std::cmp_equal(weights.size(), weights_.numel()));
  if (is_pinned(weights)) {
    weights_.copy_(view_of(weights), /*non_blocking=*/true);
  } else {
    await_weights();
    const at::Tensor pinned = beside(weights_beside_);
    std::memcpy(pinned.data_ptr<float>(), weights.data(), weights.size_bytes());
    weights_.copy_(pinned, /*non_blocking=*/true);
  }
  if (!side_stream_) return;
  weights_left_.emplace(device_.type());
  weights_left_->record(current_stream(device_));
}

// ---- Gradients. ----

void DeviceMirror::begin(std::span<float> gradients, const GradientReady& ready) {
  SCAVENGER_CHECK(std::cmp_equal(gradients.size(), gradients_.numel()));
  drop_arrivals();  // of a pass that was given up
  destination_ = gradients;
  is_direct_ = is_pinned(gradients);
  if (!is_direct_) beside(gradients_beside_);
  ready_ = &ready;
  waiting_first_ = waiting_last_ = 0;
}

void DeviceMirror::gradient_ready(std::uint64_t first, std::uint64_t last) {
  SCAVENGER_CHECK(ready_ != nullptr);
  const bool is_neighbour = last == waiting_first_ || first == waiting_last_;
  if (waiting_first_ == waiting_last_) {
    waiting_first_ = first;
    waiting_last_ = last;
  } else if (is_neighbour) {
    waiting_first_ = std::min(waiting_first_, first);
    waiting_last_ = std::max(waiting_last_, last);
  } else {
    send(std::exchange(waiting_first_, first), std::exchange(waiting_last_, last));
  }
  if (waiting_last_ - waiting_first_ >= piece_floats_) {
    send(waiting_first_, waiting_last_);
    waiting_first_ = waiting_last_ = 0;
  }
  tell_of_arrivals(false);
}

void DeviceMirror::send(std::uint64_t first, std::uint64_t last) {
  const at::Tensor destination = is_direct_ ? view_of(destination_) : gradients_beside_;
  Departure departure{first, last, std::nullopt};
  if (side_stream_) {
    c10::Event computed(device_.type());
    computed.record(current_stream(device_));
    computed.block(*side_stream_);
    const c10::StreamGuard aside(*side_stream_);
    part_of(destination, first, last)
        .copy_(part_of(gradients_, first, last), /*non_blocking=*/true);
    departure.arrived.emplace(device_.type());
    departure.arrived->record(*side_stream_);
  } else {
    part_of(destination, first, last).copy_(part_of(gradients_, first, last));
  }
  under_way_.push_back(std::move(departure));
}

void DeviceMirror::finish() {
  if (waiting_first_ != waiting_last_) send(waiting_first_, waiting_last_);
  waiting_first_ = waiting_last_ = 0;
  tell_of_arrivals(true);
  ready_ = nullptr;
}

// Handles them in the order in which they were sent.
void DeviceMirror::tell_of_arrivals(bool wait) {
  while (!under_way_.empty()) {
    const Departure& next = under_way_.front();
    if (next.arrived && wait) next.arrived->synchronize();
    if (next.arrived && !next.arrived->query()) return;
    const std::uint64_t first = next.first, last = next.last;
    under_way_.pop_front();
    if (!is_direct_)
      std::memcpy(destination_.data() + first, gradients_beside_.data_ptr<float>() + first,
                  (last - first) * sizeof(float));
    if (*ready_) (*ready_)(first, last);
  }
}

}  // namespace scavenger
