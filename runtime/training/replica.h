// The port for a worker's own copy of the job: weights and optimizer state in two versions, the
// gradient, and the arithmetic on them. On the host the parameter server's kernels do it
// (ps/collective), on a device LibTorch (runtime/torch): then all of it stays there.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/training/flat_range.h"

namespace scavenger {

// One iteration's step, the same for all parameters.
struct ReplicaStep {
  std::uint64_t iteration = 0;  // from its version into the next one's
  double learning_rate = 0.0;
  std::uint64_t step_number = 1;  // with this optimizer state, from 1
};

struct GradientNorms {
  double local_sqr_norm = 0.0;   // |g_k|^2 of this worker's gradient, before it was weighted
  double global_sqr_norm = 0.0;  // |g|^2 of what was stepped with
};

// Spans of vector() and gradients() may be memory of a device, which only its trainer and its
// collective read; those of load() and save() are the host's.
//
// Thread: one at a time, but save() of one version from any thread while another is written.
class Replica {
 public:
  virtual ~Replica() = default;

  // Of the optimizer, beside the weights.
  virtual std::uint32_t state_vectors() const = 0;
  // Weights (0) or a vector of state (from 1 on) after this number of iterations, or this plus or
  // minus 2, 4, ...
  virtual std::span<float> vector(std::uint32_t index, std::uint64_t iteration) = 0;
  virtual std::span<float> gradients() = 0;

  // All zeros: weights and state.
  virtual void clear(std::uint64_t iteration) = 0;
  virtual void load(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
                    std::span<const float> values) = 0;
  virtual void save(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
                    std::span<float> values) = 0;

  // ---- One iteration. The ranges given to weight(), and those given to step(), are whole chunks.
  virtual void begin(const ReplicaStep& step) = 0;
  // The gradient there is final: it becomes this worker's part of the sum, `share` times it.
  virtual void weight(FlatRange range, float share) = 0;
  // The gradient there is the sum.
  virtual void step(FlatRange range) = 0;
  // When all ranges were stepped: returns when the new version is there.
  virtual GradientNorms finish() = 0;
};

}  // namespace scavenger
