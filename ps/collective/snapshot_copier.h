// Copies one version of a replica while training goes on, which does not change it for one more
// iteration.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "ps/core/chunk_layout.h"
#include "ps/core/shard_state.h"
#include "runtime/training/replica.h"

namespace scavenger::ps {

// Thread: one; it copies on a separate thread.
class SnapshotCopier final {
 public:
  // `deliver` is called on the copier's thread.
  using Deliver =
      std::function<void(std::uint32_t membership_epoch, std::shared_ptr<const ShardSnapshot>)>;

  // The replica must outlive the copier.
  SnapshotCopier(Replica& replica, const ChunkLayout& layout, Deliver deliver);
  ~SnapshotCopier() { wait(); }
  SnapshotCopier(const SnapshotCopier&) = delete;
  SnapshotCopier& operator=(const SnapshotCopier&) = delete;

  void begin(std::uint32_t membership_epoch, const ShardProgress& progress);
  // Returns when the copier no longer reads the replica.
  void wait();
  // Call it before the version after `iteration` iterations is overwritten: waits if that version
  // is being copied.
  void make_way_for(std::uint64_t iteration);

 private:
  void copy(std::uint32_t membership_epoch);

  Replica& replica_;
  const ChunkLayout layout_;
  const Deliver deliver_;
  ShardProgress progress_;
  std::thread thread_;
};

}  // namespace scavenger::ps
