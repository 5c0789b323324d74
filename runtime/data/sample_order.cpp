#include "runtime/data/sample_order.h"

#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/random.h"

namespace scavenger {

SampleOrder::SampleOrder(std::uint64_t seed, std::uint32_t size) : seed_(seed), size_(size) {
  SCAVENGER_CHECK(size > 0);
}

SampleOrder::SampleOrder(std::uint64_t seed, std::uint32_t size, const BucketConfig& buckets,
                         SampleLength length)
    : SampleOrder(seed, size) {
  buckets_ = buckets;
  length_ = std::move(length);
}

SampleDraw SampleOrder::at(std::uint64_t position) {
  const std::uint64_t epoch = position / size_;
  if (epoch_ != epoch) {
    RandomStream stream(seed_, "sample order", {epoch});
    order_ = permutation(stream, size_);
    if (length_) arrange_in_buckets(order_, epoch * size_, buckets_, length_, seed_, epoch);
    epoch_ = epoch;
  }
  return {.epoch = epoch, .index = order_[position % size_]};
}

std::vector<std::uint32_t> split_batch(std::uint32_t batch_size, std::uint32_t workers) {
  SCAVENGER_CHECK(workers > 0);
  std::vector<std::uint32_t> shares(workers, batch_size / workers);
  for (std::uint32_t k = 0; k < batch_size % workers; ++k) ++shares[k];
  return shares;
}

WorkerSlice worker_slice(std::uint64_t first_position, std::span<const std::uint32_t> shares,
                         std::uint32_t rank) {
  SCAVENGER_CHECK(rank < shares.size());
  WorkerSlice slice{.first = first_position, .size = shares[rank]};
  for (const std::uint32_t share : shares.first(rank)) slice.first += share;
  return slice;
}

}  // namespace scavenger
