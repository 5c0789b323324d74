// A worker's copy of the model state in host memory, with the arithmetic of the parameter server:
// the same chunks, kernels and order, so that results are bitwise equal if the sum is made in rank
// order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ps/collective/host_memory_replica.h"
#include "ps/core/chunk_layout.h"
#include "ps/core/float_buffer.h"
#include "ps/core/optimizer.h"
#include "ps/core/reduction.h"
#include "ps/core/shard_state.h"
#include "runtime/training/replica.h"

namespace scavenger::ps {

// Thread: as Replica.
class HostReplica : public HostMemoryReplica {
 public:
  // Requires a layout with one shard.
  HostReplica(const ChunkLayout& layout, const OptimizerConfig& optimizer);

  std::uint32_t state_vectors() const override;
  std::span<float> vector(std::uint32_t index, std::uint64_t iteration) override;

  void begin(const ReplicaStep& step) override;
  void weight(FlatRange range, float share) override;
  void step(FlatRange range) override;
  std::optional<GradientNorms> finish() override;

 private:
  double step_chunk(const ChunkRange& part, float scale, std::span<double> sqr_norm);

  const Optimizer optimizer_;
  ShardMemory memory_;

  // State of the iteration.
  std::optional<OptimizerStep> step_;
  Version from_, to_;
  bool alone_ = true;  // the only worker: the sum is its own gradient
};

}  // namespace scavenger::ps
