// Synchronises workers without a server: each worker has the weights and the optimizer state; all
// add up their gradients, and each makes the same step.
//
// Gradients are weighted by b_k / B and summed bucket by bucket during the backward pass. The step
// reads one version of the weights and writes the other, so that an interrupted iteration changes
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ps/collective/buckets.h"
#include "ps/collective/group_sums.h"
#include "ps/collective/snapshot_copier.h"
#include "ps/core/chunk_layout.h"
#include "ps/shard/state_frames.h"
#include "runtime/base/clock.h"
#include "runtime/config/job_config.h"
#include "runtime/training/collective.h"
#include "runtime/training/replica.h"
#include "runtime/training/state_holder.h"
#include "runtime/training/synchroniser.h"

namespace scavenger::ps {

// Thread: as Synchroniser. gradient_ready() may also be called by another thread while the compute
// thread waits for that thread, as in backward passes on a device.
class CollectiveSynchroniser final : public Synchroniser, public StateHolder {
 public:
  struct Parts {
    std::unique_ptr<Replica> replica;
    std::unique_ptr<Collective> collective;
    SnapshotCopier::Deliver deliver_snapshot;
  };
  struct Options {
    OptimizerConfig optimizer;
    std::uint64_t samples_per_epoch = 1;
    BucketSizes buckets;
  };

  // `layout`: that of the replica, with one shard.
  CollectiveSynchroniser(Parts parts, const ChunkLayout& layout, const Clock& clock,
                         const Options& options);

  bool join(const SyncGroup& group, const InitialWeights& initial_weights) override;
  std::span<float> weights() override { return replica_->vector(0, next_iteration_); }
  std::span<float> gradients() override { return replica_->gradients(); }
  void begin(std::uint64_t iteration) override;
  void gradient_ready(std::uint64_t first, std::uint64_t last) override {
    sums_.gradient_ready(first, last);
  }
  std::optional<SyncResult> finish() override;
  SyncResult late_result() override;
  void interrupt() override { sums_.interrupt(); }
  void allow() override { sums_.allow(); }
  std::string problem() const override { return sums_.problem(); }
  StateHolder* state_holder() override { return this; }

  void begin_load(std::uint64_t iteration) override;
  bool load(std::uint32_t vector, std::uint32_t chunk, std::span<const std::byte> floats) override;
  std::optional<std::uint64_t> held_iteration() const override { return held_; }
  std::uint64_t begin_snapshot(std::uint64_t iteration) override;

 private:
  void take_place(const SyncGroup& group);
  void share_state(const SyncGroup& group);
  std::uint64_t steps_before(std::uint64_t iteration) const;

  const std::unique_ptr<Replica> replica_;
  const std::unique_ptr<Collective> collective_;
  const ChunkLayout layout_;
  const Clock& clock_;
  const Options options_;
  SnapshotCopier copier_;
  GroupSums sums_;

  // State of the membership.
  scavenger::Membership membership_;
  std::uint64_t optimizer_steps_ = 0;  // steps before its first iteration

  // Number of iterations after which this worker has the complete state.
  std::optional<std::uint64_t> held_;
  LoadedPieces loaded_;
  std::uint64_t loading_iteration_ = 0;

  // State of the iteration.
  std::uint64_t next_iteration_ = 0;
  double wait_seconds_ = 0.0;  // of the host, in the last finish()
};

}  // namespace scavenger::ps
