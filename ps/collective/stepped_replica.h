// A worker's copy of the model state in host memory whose optimizer is somebody else's: the user's,
// in Python. All workers step it with the same gradient, so that all have the same weights.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ps/collective/host_memory_replica.h"
#include "ps/core/chunk_layout.h"
#include "ps/core/float_buffer.h"
#include "ps/core/reduction.h"
#include "runtime/config/job_config.h"
#include "runtime/training/replica.h"

namespace scavenger::ps {

// One step of the whole model. Vectors are weights first, then the state, in the order of
// OptimizerConfig::state.
struct WholeStep {
  ReplicaStep step;                        // its learning rate is a factor of the optimizer's own
  std::span<float> gradient;               // may be changed
  std::vector<std::span<float>> from, to;  // before and after it
};
// Writes `to`; what it throws ends the worker.
using StepWhole = std::function<void(const WholeStep&)>;

// Thread: as Replica.
class SteppedReplica final : public HostMemoryReplica {
 public:
  // Requires a layout with one shard.
  SteppedReplica(const ChunkLayout& layout, const OptimizerConfig& optimizer, StepWhole step);

  std::uint32_t state_vectors() const override;
  std::span<float> vector(std::uint32_t index, std::uint64_t iteration) override;

  void begin(const ReplicaStep& step) override { step_ = step; }
  void weight(FlatRange range, float share) override;
  void step(FlatRange range) override;
  std::optional<GradientNorms> finish() override;

 private:
  // Multiplies a chunk's gradient; returns its squared norm before that.
  double scale(const ChunkRange& part, float factor);

  const StepWhole step_whole_;
  std::vector<std::array<FloatBuffer, 2>> vectors_;

  // State of the iteration.
  ReplicaStep step_;
};

}  // namespace scavenger::ps
