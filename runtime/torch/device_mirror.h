// A model on a device whose weights and gradients belong in memory of the host: weights are brought
// there before each pass, gradients leave as autograd finishes them, on a stream of their own,
// beside the rest of the pass. Both go through pinned memory, from and to which a device copies by
// itself.
//
// Written against what all kinds of devices have, so that it compiles with any LibTorch; on the CPU
// copies are done at once.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "runtime/training/trainer.h"

namespace scavenger {

// Thread: one at a time; during a backward pass the one that autograd runs it on.
class DeviceMirror final {
 public:
  DeviceMirror(at::Device device, std::uint64_t flat_size);
  ~DeviceMirror();
  DeviceMirror(const DeviceMirror&) = delete;
  DeviceMirror& operator=(const DeviceMirror&) = delete;

  // Flat vectors on the device, always the same.
  const at::Tensor& weights() const { return weights_; }
  const at::Tensor& gradients() const { return gradients_; }

  // What is computed from now on reads these. The span may be written again when it returns.
  void bring_weights(std::span<const float> weights);

  // Around each pass: gradients go to this span. `ready` must live until finish().
  void begin(std::span<float> gradients, const GradientReady& ready);
  // What was computed last is the gradient at [first, last). Tells of those that have arrived.
  void gradient_ready(std::uint64_t first, std::uint64_t last);
  // Returns when all have arrived, and have been told of.
  void finish();

 private:
  struct Departure {
    std::uint64_t first = 0, last = 0;
    std::optional<c10::Event> arrived;  // none: it is there
  };

  void tell_of_arrivals(bool wait);

  const at::Device device_;
  std::optional<c10::Stream> side_stream_;  // none on the CPU
  at::Tensor weights_, gradients_;
  at::Tensor pinned_weights_, pinned_gradients_;
  std::optional<c10::Event> weights_left_;

  std::span<float> destination_;
  const GradientReady* ready_ = nullptr;
  std::deque<Departure> under_way_;
};

}  // namespace scavenger
