// Mirrors weights and gradients, which are kept in host memory, on the device of a model. Weights
// are copied to the device before each pass, or part by part as they become final. Gradients are
// copied to the host as autograd finishes them, on a separate stream, concurrently with the rest of
// the pass; small ones wait for their neighbours. The host may do other work while it waits. The
// device copies straight from and to the host's vectors if their memory can be pinned where it is,
// and otherwise through pinned memory beside it.
//
// It uses the interface that all kinds of devices have, so that it compiles with any LibTorch. On
// the CPU, copies are synchronous.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "runtime/torch/device/device_runtime.h"
#include "runtime/torch/device/range_joiner.h"
#include "runtime/training/trainer.h"

namespace scavenger {

// Thread: one at a time; during a backward pass, the thread on which autograd runs it.
class DeviceMirror final {
 public:
  // Gradients leave in pieces of at least so many floats (256 KiB), except for the last ones.
  static constexpr std::uint64_t kPieceFloats = 65536;

  // In what weights and gradients travel. kBfloat16: half the bytes; each number is rounded to the
  // nearest one of bfloat16, and to the even one of two equally near. Both ends have floats.
  enum class Transport { kFloat32, kBfloat16 };

  DeviceMirror(at::Device device, std::uint64_t flat_size, HostPinning pinning,
               Transport transport = Transport::kFloat32,
               std::uint64_t piece_floats = kPieceFloats);
  ~DeviceMirror();
  DeviceMirror(const DeviceMirror&) = delete;
  DeviceMirror& operator=(const DeviceMirror&) = delete;

  // The flat vectors on the device. Weights are in one of two places that never move, in turns if
  // they are fetched; bring_weights() changes the place.
  const at::Tensor& weights() const { return weights_[place_]; }
  const at::Tensor& gradients() const { return gradients_; }

  // Computations after this call use these weights. The span may be overwritten when a gradient has
  // arrived that was computed with them, or after await_weights().
  void bring_weights(std::span<float> weights);
  void await_weights();

  // Begins to copy a part of the weights that the next bring_weights() will be given, on a separate
  // stream and to the other place: the pass under way uses this one. If all parts were fetched
  // until then, bring_weights() only orders what follows after them, and otherwise it copies all.
  void fetch_weights(std::span<float> next_weights, std::uint64_t first, std::uint64_t last);

  // Begins a pass whose gradients go to this span, also in place of one that was given up. `ready`
  // must live until finish().
  void begin(std::span<float> gradients, const GradientReady& ready);
  // Reports that the last computation has finished the gradient at [first, last). Calls `ready` for
  // the gradients that have arrived.
  void gradient_ready(std::uint64_t first, std::uint64_t last);
  // Ends the pass. Returns when all gradients have arrived and `ready` was called for them. Until
  // then it calls `work`, which may be empty, as long as that returns true.
  void finish(const std::function<bool()>& work);

  // Ends all access to the host's vectors, whose memory stays pinned. An error of the device is
  // left to whoever uses it next.
  void settle() noexcept;
  // The same, and releases their memory. Call it before that is freed.
  void release() noexcept;

 private:
  struct Departure {
    std::uint64_t first = 0, last = 0;
    std::optional<c10::Event> arrived;  // none: it has arrived
  };

  bool take_fetched(std::span<float> weights);
  bool is_pinned(std::span<float> vector);
  bool is_direct(std::span<float> vector);
  void copy_weights(std::span<float> weights, std::uint64_t first, std::uint64_t last,
                    std::size_t place);
  at::Tensor beside(at::Tensor& pinned);
  void send(std::uint64_t first, std::uint64_t last);
  void mark(std::optional<c10::Event>& event) const;
  void tell_of_arrivals(bool wait, const std::function<bool()>& work = {});
  void drop_arrivals();

  const at::Device device_;
  const HostPinning pinning_;
  const bool is_rounded_;
  // Beside that of the passes, for each direction; none on the CPU.
  std::optional<c10::Stream> weights_stream_, gradients_stream_;
  at::Tensor weights_[2];  // the second one is made if weights are fetched
  std::size_t place_ = 0;  // of those in use
  at::Tensor gradients_;
  at::Tensor rounded_weights_;      // on the device, as they came; not defined if they are floats
  std::map<float*, bool> vectors_;  // of the host, in use since release(): whether it was pinned
  at::Tensor weights_beside_, gradients_beside_;  // pinned memory; made if a vector needs it
  std::optional<c10::Event> weights_left_;        // the host's vector
  std::optional<c10::Event> brought_;    // all passes with the other place's weights have ended
  const float* fetched_from_ = nullptr;  // the vector of which parts were fetched
  std::uint64_t fetched_floats_ = 0;

  std::span<float> destination_;
  bool is_direct_ = false;  // the device copies to destination_ itself
  const GradientReady* ready_ = nullptr;
  RangeJoiner waiting_;  // finished, but not sent yet
  std::deque<Departure> under_way_;
};

}  // namespace scavenger
