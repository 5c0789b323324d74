#include "runtime/torch/device/device_mirror.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
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
                           Transport transport, std::uint64_t piece_floats)
    : device_(device),
      pinning_(std::move(pinning)),
      is_rounded_(transport == Transport::kBfloat16),
      waiting_(piece_floats) {
  const auto n = static_cast<std::int64_t>(flat_size);
  const auto on_device = at::TensorOptions().dtype(at::kFloat).device(device);
  weights_[0] = at::zeros({n}, on_device);
  gradients_ = at::zeros({n}, on_device);  // so the gaps between tensors stay zero
  if (is_rounded_) rounded_weights_ = at::empty({n}, on_device.dtype(at::kBFloat16));
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl streams(device.type());
  weights_stream_ = streams.getStreamFromGlobalPool(device);
  gradients_stream_ = streams.getStreamFromGlobalPool(device);
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
    pinned = at::empty(gradients_.sizes(), at::TensorOptions()
                                               .dtype(is_rounded_ ? at::kBFloat16 : at::kFloat)
                                               .pinned_memory(!device_.is_cpu()));
  return pinned;
}

bool DeviceMirror::is_direct(std::span<float> vector) {
  return !is_rounded_ && is_pinned(vector);
}

void DeviceMirror::drop_arrivals() {
  for (; !under_way_.empty(); under_way_.pop_front())
    if (under_way_.front().arrived) under_way_.front().arrived->synchronize();
}

// Destructors call it while an error of the device is on its way up, which must not be lost: a
// device that has failed says so again here, and copies nothing any more.
void DeviceMirror::settle() noexcept {
  fetched_from_ = nullptr;
  try {
    await_weights();
    drop_arrivals();
  } catch (const std::exception&) {
    under_way_.clear();
  }
  destination_ = {};
}

void DeviceMirror::release() noexcept {
  settle();
  for (const auto& [vector, was_pinned] : vectors_)
    if (was_pinned) pinning_.release(vector);
  vectors_.clear();
}

// ---- Weights. ----

void DeviceMirror::await_weights() {
  if (weights_left_) weights_left_->synchronize();
}

void DeviceMirror::bring_weights(std::span<float> weights) {
  SCAVENGER_CHECK(std::cmp_equal(weights.size(), gradients_.numel()));
  if (!take_fetched(weights)) {
    if (!is_direct(weights)) await_weights();
    copy_weights(weights, 0, weights.size(), place_);
    mark(weights_left_);
  }
  mark(brought_);
}

// Sets the event to what the current stream has to do until now.
void DeviceMirror::mark(std::optional<c10::Event>& event) const {
  if (device_.is_cpu()) return;
  event.emplace(device_.type());
  event->record(current_stream(device_));
}

void DeviceMirror::fetch_weights(std::span<float> next_weights, std::uint64_t first,
                                 std::uint64_t last) {
  SCAVENGER_CHECK(first < last && last <= next_weights.size() &&
                  (fetched_from_ == nullptr || fetched_from_ == next_weights.data()));
  const std::size_t other = 1 - place_;
  if (fetched_from_ == nullptr) {
    if (!is_direct(next_weights)) await_weights();  // of this pass
    if (!weights_[other].defined()) weights_[other] = at::empty_like(weights_[place_]);
    if (brought_) brought_->block(*weights_stream_);
    fetched_floats_ = 0;
  }
  fetched_from_ = next_weights.data();
  fetched_floats_ += last - first;
  if (!weights_stream_) return copy_weights(next_weights, first, last, other);
  const c10::StreamGuard aside(*weights_stream_);
  copy_weights(next_weights, first, last, other);
  mark(weights_left_);
}

// On the current stream. If the device does not copy from the vector itself, it must have ended all
// earlier copies.
void DeviceMirror::copy_weights(std::span<float> weights, std::uint64_t first, std::uint64_t last,
                                std::size_t place) {
  const at::Tensor there = part_of(weights_[place], first, last);
  const at::Tensor here = part_of(view_of(weights), first, last);
  if (is_direct(weights)) {
    there.copy_(here, /*non_blocking=*/true);
    return;
  }
  const at::Tensor pinned = part_of(beside(weights_beside_), first, last);
  pinned.copy_(here);
  if (!is_rounded_) {
    there.copy_(pinned, /*non_blocking=*/true);
    return;
  }
  const at::Tensor rounded = part_of(rounded_weights_, first, last);
  rounded.copy_(pinned, /*non_blocking=*/true);
  there.copy_(rounded);
}

// Orders what follows on the current stream after the parts that were fetched. If they are all of
// this vector, goes over to their place and returns true.
bool DeviceMirror::take_fetched(std::span<float> weights) {
  if (fetched_from_ == nullptr) return false;
  if (weights_stream_) weights_left_->block(current_stream(device_));
  const bool is_whole = fetched_from_ == weights.data() && fetched_floats_ == weights.size();
  fetched_from_ = nullptr;
  if (is_whole) place_ = 1 - place_;
  return is_whole;
}

// ---- Gradients. ----

void DeviceMirror::begin(std::span<float> gradients, const GradientReady& ready) {
  SCAVENGER_CHECK(std::cmp_equal(gradients.size(), gradients_.numel()));
  drop_arrivals();  // of a pass that was given up
  destination_ = gradients;
  is_direct_ = is_direct(gradients);
  if (!is_direct_) beside(gradients_beside_);
  ready_ = &ready;
  waiting_.clear();
}

void DeviceMirror::gradient_ready(std::uint64_t first, std::uint64_t last) {
  SCAVENGER_CHECK(ready_ != nullptr);
  waiting_.add(first, last, [this](std::uint64_t from, std::uint64_t to) { send(from, to); });
  tell_of_arrivals(false);
}

void DeviceMirror::send(std::uint64_t first, std::uint64_t last) {
  const at::Tensor here =
      part_of(is_direct_ ? view_of(destination_) : gradients_beside_, first, last);
  const at::Tensor there = part_of(gradients_, first, last);
  Departure departure{first, last, std::nullopt};
  if (gradients_stream_) {
    c10::Event computed(device_.type());
    computed.record(current_stream(device_));
    computed.block(*gradients_stream_);
    const c10::StreamGuard aside(*gradients_stream_);
    here.copy_(is_rounded_ ? there.to(at::kBFloat16) : there, /*non_blocking=*/true);
    mark(departure.arrived);
  } else {
    here.copy_(there);
  }
  under_way_.push_back(std::move(departure));
}

void DeviceMirror::finish(const std::function<bool()>& work) {
  waiting_.flush([this](std::uint64_t from, std::uint64_t to) { send(from, to); });
  tell_of_arrivals(true, work);
  ready_ = nullptr;
}

// Handles them in the order in which they were sent. There is work for the host even if the next
// one has arrived: what others do with those before it.
void DeviceMirror::tell_of_arrivals(bool wait, const std::function<bool()>& work) {
  const auto has_arrived = [](const Departure& next) {
    return !next.arrived || next.arrived->query();
  };
  while (!under_way_.empty()) {
    const Departure& next = under_way_.front();
    while (work && work() && !has_arrived(next)) {
    }
    if (next.arrived && wait) next.arrived->synchronize();
    if (!has_arrived(next)) return;
    const std::uint64_t first = next.first, last = next.last;
    under_way_.pop_front();
    if (!is_direct_)
      part_of(view_of(destination_), first, last).copy_(part_of(gradients_beside_, first, last));
    if (*ready_) (*ready_)(first, last);
  }
}

}  // namespace scavenger
