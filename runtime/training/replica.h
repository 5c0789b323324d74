// The port for a worker's own copy of the model state: weights and optimizer state in two versions,
// the gradient, and the arithmetic on them. In host memory it is computed by the parameter server's
// kernels (ps/collective), on a device by LibTorch (runtime/torch); the data then stay on the
// device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "runtime/base/check.h"
#include "runtime/training/flat_range.h"

namespace scavenger {

// The parameters of one iteration's step, the same for all weights.
struct ReplicaStep {
  std::uint64_t iteration = 0;  // steps from the version before this iteration to the one after it
  double learning_rate = 0.0;
  std::uint64_t step_number = 1;  // steps with this optimizer state, counted from 1
  std::uint64_t epochs = 0;       // whole passes over the training data before the iteration
};

struct GradientNorms {
  double local_sqr_norm = 0.0;   // |g_k|^2 of this worker's gradient, before weighting
  double global_sqr_norm = 0.0;  // |g|^2 of the gradient of the step
};

// The norms of an iteration that a device has computed after the host had gone on.
struct LateNorms {
  GradientNorms norms;
  double seconds = 0.0;  // from begin_steps() to the end of the step, on the device
};

// Spans of vector() and gradients() may be memory of a device, which only the trainer and the
// collective of that device access; spans of load(), save() and those of
// gradients are host memory.
//
// Thread: one at a time, except that any thread may save() one version while the other is written.
class Replica {
 public:
  virtual ~Replica() = default;

  // Returns the number of the optimizer's state vectors, without the weights.
  virtual std::uint32_t state_vectors() const = 0;
  // Returns the weights (index 0) or a state vector (index 1, ...) after `iteration` iterations.
  // Versions whose iterations differ by an even number share their memory.
  virtual std::span<float> vector(std::uint32_t index, std::uint64_t iteration) = 0;
  virtual std::span<float> gradients() = 0;

  // Sets weights and state to zero.
  virtual void clear(std::uint64_t iteration) = 0;
  virtual void load(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
                    std::span<const float> values) = 0;
  virtual void save(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
                    std::span<float> values) = 0;

  // Gradients to and from host memory. Return when the copy is complete.
  virtual void save_gradients(std::uint64_t first, std::span<float> values) = 0;
  virtual void load_gradients(std::uint64_t first, std::span<const float> values) = 0;

  // ---- One iteration. Ranges given to weight() and step() consist of whole chunks.
  virtual void begin(const ReplicaStep& step) = 0;
  // Requires that the gradient in this range is final. Multiplies it by `share`, which makes it
  // this worker's part of the sum.
  virtual void weight(FlatRange range, float share) = 0;
  // Whether few calls of weight() are better than many: each costs a device several kernels, but
  // the host has a chunk that was just written in its caches.
  virtual bool prefers_large_ranges() const { return false; }
  // Call it when all ranges were weighted: what follows until finish() is synchronisation.
  virtual void begin_steps() {}
  // Requires that the gradient in this range is the sum.
  virtual void step(FlatRange range) = 0;
  // Call it after all ranges were stepped. The new version is complete for all that the caller does
  // next. Returns nothing if the device still computes the norms, and late_norms() has them.
  virtual std::optional<GradientNorms> finish() = 0;
  // Returns the norms of the last finish(), which returned none. Waits for the device if it has not
  // computed them yet. Call it at most once, before the next finish(), or never.
  virtual LateNorms late_norms() {
    SCAVENGER_CHECK(false);
    return {};
  }
};

}  // namespace scavenger
