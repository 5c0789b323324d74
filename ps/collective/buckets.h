// The units of summation: runs of chunks, from the end of the flat vector to its start, in the
// order in which a backward pass finishes them. The order is fixed, so that all workers sum the
// same buckets.
#pragma once

#include <cstdint>
#include <vector>

#include "ps/core/chunk_layout.h"
#include "runtime/training/replica.h"

namespace scavenger::ps {

// Buckets are small enough to begin early, and large enough to be worth a round among all workers.
// The first one is smaller, so that the first sum begins soon after the start of the backward pass.
struct BucketSizes {
  std::uint64_t first_bytes = std::uint64_t{1} << 20;
  std::uint64_t bytes = std::uint64_t{8} << 20;
};

// Thread: one.
class Buckets final {
 public:
  Buckets(const ChunkLayout& layout, const BucketSizes& sizes);

  // Returns the buckets in the order in which they are summed.
  const std::vector<FlatRange>& ranges() const { return ranges_; }

  void begin_iteration();
  // Records that the gradient of this chunk is final. Calls bucket_ready(range) for each bucket
  // that may be summed now: all chunks of it and of all buckets before it are ready.
  template <typename BucketReady>
  void finish_chunk(std::uint32_t chunk, const BucketReady& bucket_ready) {
    --missing_chunks_[bucket_of_[chunk]];
    for (; next_ < ranges_.size() && missing_chunks_[next_] == 0; ++next_)
      bucket_ready(ranges_[next_]);
  }

 private:
  std::vector<FlatRange> ranges_;
  std::vector<std::uint32_t> bucket_of_;  // by chunk
  std::vector<std::uint32_t> chunks_in_;  // by bucket
  std::vector<std::uint32_t> missing_chunks_;
  std::size_t next_ = 0;
};

}  // namespace scavenger::ps
