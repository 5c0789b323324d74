// Mirrors weights and gradients, which are kept in host memory, on the device of a model. Weights
// are copied to the device before each pass. Gradients are copied to the host as autograd finishes
// them, on a separate stream, concurrently with the rest of the pass. Both use pinned memory, which
// the device can copy from and to by itself.
//
// It uses the interface that all kinds of devices have, so that it compiles with any LibTorch. On
// the CPU, copies are synchronous.
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

// Thread: one at a time; during a backward pass, the thread on which autograd runs it.
class DeviceMirror final {
 public:
  DeviceMirror(at::Device device, std::uint64_t flat_size);
  ~DeviceMirror();
  DeviceMirror(const DeviceMirror&) = delete;
  DeviceMirror& operator=(const DeviceMirror&) = delete;

  // The flat vectors on the device, which never move.
  const at::Tensor& weights() const { return weights_; }
  const at::Tensor& gradients() const { return gradients_; }

  // Computations after this call use these weights. The span may be overwritten when it returns.
  void bring_weights(std::span<const float> weights);

  // Begins a pass whose gradients go to this span. `ready` must live until finish().
  void begin(std::span<float> gradients, const GradientReady& ready);
  // Reports that the last computation has finished the gradient at [first, last). Calls `ready` for
  // the gradients that have arrived.
  void gradient_ready(std::uint64_t first, std::uint64_t last);
  // Ends the pass. Returns when all gradients have arrived and `ready` was called for them.
  void finish();

 private:
  struct Departure {
    std::uint64_t first = 0, last = 0;
    std::optional<c10::Event> arrived;  // none: it has arrived
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
