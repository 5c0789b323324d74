// What all synchronisers that add up by a collective have in common: the sums of a worker's
// gradients with those of its group, bucket by bucket while the backward pass still runs, and what
// becomes of them if another process goes or the worker is interrupted.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "ps/collective/buckets.h"
#include "ps/core/chunk_layout.h"
#include "ps/core/ready_chunks.h"
#include "runtime/base/error.h"
#include "runtime/training/collective.h"
#include "runtime/training/replica.h"

namespace scavenger::ps {

// Thread: as Synchroniser, whose functions of the same names call these.
class GroupSums final {
 public:
  // The replica has the gradients. Both must outlive this object.
  GroupSums(Replica& replica, Collective& collective, const ChunkLayout& layout,
            const BucketSizes& buckets);

  // Gradients are multiplied by the share, b_k over the group's batch, before they are added. One
  // bucket is for a worker alone, who adds nothing up: a device steps all at once fastest.
  void begin_membership(float share, bool in_one_bucket);
  void begin_iteration();
  void gradient_ready(std::uint64_t first, std::uint64_t last);
  bool all_ready() const { return ready_chunks_.all_ready(); }
  // In the order of the sums, each of which the collective's finish_sum() ends.
  const std::vector<FlatRange>& buckets() const { return buckets_.ranges(); }

  // Runs an operation that needs other processes. Returns false if one of them is gone, or if it
  // was interrupted; no operation accesses memory any more then, and the others of the group notice
  // that this worker leaves.
  template <typename Work>
  bool attempt(const Work& work) {
    try {
      work();
      return true;
    } catch (const ConnectionError& error) {
      give_up(error.what());
      return false;
    }
  }
  // Returns whether an operation has failed since the membership began.
  bool given_up() const { return given_up_; }

  void interrupt();
  void allow();
  std::string problem() const;

 private:
  void give_up(const std::string& problem);

  Replica& replica_;
  Collective& collective_;
  const ChunkLayout layout_;
  ReadyChunks ready_chunks_;
  const BucketSizes sizes_;
  Buckets buckets_;
  float share_ = 1.0F;
  bool given_up_ = false;
  std::atomic<bool> interrupted_{false};
  mutable std::mutex mutex_;
  std::string problem_;
};

}  // namespace scavenger::ps
