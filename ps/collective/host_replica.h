// A worker's copy of the model state in host memory, with the arithmetic of the parameter server:
// the same chunks, kernels and order, so that results are bitwise equal if the sum is made in rank
// order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ps/core/chunk_layout.h"
#include "ps/core/float_buffer.h"
#include "ps/core/optimizer.h"
#include "ps/core/reduction.h"
#include "ps/core/shard_state.h"
#include "runtime/training/replica.h"

namespace scavenger::ps {

// Thread: as Replica.
class HostReplica final : public Replica {
 public:
  // Requires a layout with one shard.
  HostReplica(const ChunkLayout& layout, const OptimizerConfig& optimizer);

  std::uint32_t state_vectors() const override;
  std::span<float> vector(std::uint32_t index, std::uint64_t iteration) override;
  std::span<float> gradients() override { return gradients_.span(); }

  void clear(std::uint64_t iteration) override;
  void load(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
            std::span<const float> values) override;
  void save(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
            std::span<float> values) override;

  void begin(const ReplicaStep& step) override;
  void weight(FlatRange range, float share) override;
  void step(FlatRange range) override;
  GradientNorms finish() override;

 private:
  template <typename Do>
  void for_chunks(FlatRange range, const Do& what) const;
  bool clips() const { return clip_norm_ > 0.0; }
  double step_chunk(const ChunkRange& part, float scale, std::span<double> sqr_norm);

  const ChunkLayout layout_;
  const Optimizer optimizer_;
  const double clip_norm_;  // 0: gradients are not clipped
  ShardMemory memory_;
  FloatBuffer gradients_;
  ChunkReducer reducer_;

  // State of the iteration.
  std::optional<OptimizerStep> step_;
  Version from_, to_;
  bool alone_ = true;                    // the only worker: the sum is its own gradient
  std::vector<double> local_sqr_norms_;  // by chunk
  std::vector<double> global_sqr_norms_;
};

}  // namespace scavenger::ps
