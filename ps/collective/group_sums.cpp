#include "ps/collective/group_sums.h"

namespace scavenger::ps {

GroupSums::GroupSums(Replica& replica, Collective& collective, const ChunkLayout& layout,
                     const BucketSizes& buckets)
    : replica_(replica),
      collective_(collective),
      layout_(layout),
      ready_chunks_(layout_),
      buckets_(layout_, buckets) {}

void GroupSums::begin_membership(float share) {
  share_ = share;
  given_up_ = false;
}

void GroupSums::begin_iteration() {
  ready_chunks_.begin_iteration();
  buckets_.begin_iteration();
}

void GroupSums::gradient_ready(std::uint64_t first, std::uint64_t last) {
  ready_chunks_.finish(first, last, [this](std::uint32_t chunk) {
    if (given_up_) return;
    const ChunkRange range = layout_.range(chunk);
    replica_.weight({range.first, range.size}, share_);
    buckets_.finish_chunk(chunk, [this](const FlatRange& bucket) {
      if (given_up_) return;
      attempt(
          [&] { collective_.begin_sum(replica_.gradients().subspan(bucket.first, bucket.size)); });
    });
  });
}

void GroupSums::give_up(const std::string& problem) {
  {
    const std::lock_guard lock(mutex_);
    problem_ = problem;
  }
  given_up_ = true;
  collective_.leave();
}

void GroupSums::interrupt() {
  interrupted_ = true;
  collective_.interrupt();
}

void GroupSums::allow() {
  collective_.allow();
  interrupted_ = false;
  const std::lock_guard lock(mutex_);
  problem_.clear();
}

std::string GroupSums::problem() const {
  const std::lock_guard lock(mutex_);
  return interrupted_ ? std::string() : problem_;
}

}  // namespace scavenger::ps
