// The synchroniser of workers whose gradients stay on a device: the workers of one host add up by a
// collective among their devices (NCCL), and the first of them exchanges the sum with the shards,
// which may be on other hosts. So each host copies and sends one gradient, not one per worker.
//
//   all workers of a host   weight by b_k / B_host, sum bucket by bucket during the backward pass
//   the first of them       copies the sum to host memory, sends it, receives the new weights
//   all                     receive the weights from the first worker's device
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ps/collective/buckets.h"
#include "ps/collective/group_sums.h"
#include "ps/tcp/tcp_synchroniser.h"
#include "runtime/base/clock.h"
#include "runtime/training/collective.h"
#include "runtime/training/replica.h"
#include "runtime/training/synchroniser.h"

namespace scavenger::ps {

// Thread: as Synchroniser; for the sockets, as TcpSynchroniser. A sum is made in the collective's
// order within a host, and over hosts in the order of their first workers.
class DeviceHostSynchroniser final : public Synchroniser {
 public:
  struct Parts {
    std::unique_ptr<Replica> vectors;  // weights of iteration 0 and gradients; no step is made
    std::unique_ptr<Collective> collective;
    std::unique_ptr<TcpSynchroniser> connection;
  };

  DeviceHostSynchroniser(Parts parts, const ChunkLayout& layout, const Clock& clock,
                         const BucketSizes& buckets = {});

  bool join(const SyncGroup& group, const InitialWeights& initial_weights) override;
  std::span<float> weights() override { return vectors_->vector(0, 0); }
  std::span<float> gradients() override { return vectors_->gradients(); }
  void begin(std::uint64_t iteration) override;
  void gradient_ready(std::uint64_t first, std::uint64_t last) override {
    sums_.gradient_ready(first, last);
  }
  std::optional<SyncResult> finish() override;
  void interrupt() override;
  void allow() override;
  std::string problem() const override { return sums_.problem(); }

 private:
  bool join_shards(const SyncGroup& group, const InitialWeights& initial_weights);
  double bring_to_shards();
  double hand_round(double value);
  bool is_alone() const { return size_ == 1; }

  const std::unique_ptr<Replica> vectors_;
  const std::unique_ptr<Collective> collective_;
  const std::unique_ptr<TcpSynchroniser> connection_;
  const ChunkLayout layout_;
  const Clock& clock_;
  GroupSums sums_;

  // State of the membership: this worker among those of its host.
  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 1;
};

// Returns the group of the workers of one host, of which the rank's worker is one.
SyncGroup group_of_host(const SyncGroup& group);

}  // namespace scavenger::ps
