#include "ps/collective/group_sums.h"

#include <cstdint>
#include <limits>

namespace scavenger::ps {
namespace {

constexpr std::uint64_t kAnyBytes = std::numeric_limits<std::uint64_t>::max();
constexpr BucketSizes kOneBucket{.first_bytes = kAnyBytes, .bytes = kAnyBytes};

}  // namespace

GroupSums::GroupSums(Replica& replica, Collective& collective, const ChunkLayout& layout,
                     const BucketSizes& buckets)
    : replica_(replica),
      collective_(collective),
      layout_(layout),
      ready_chunks_(layout_),
      sizes_(buckets),
      buckets_(layout_, buckets) {}

void GroupSums::begin_membership(float share, bool in_one_bucket) {
  buckets_ = Buckets(layout_, in_one_bucket ? kOneBucket : sizes_);
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
    const bool is_large = replica_.prefers_large_ranges();
    const ChunkRange range = layout_.range(chunk);
    if (!is_large) replica_.weight({range.first, range.size}, share_);
    buckets_.finish_chunk(chunk, [this, is_large](const FlatRange& bucket) {
      if (given_up_) return;
      if (is_large) replica_.weight(bucket, share_);
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
