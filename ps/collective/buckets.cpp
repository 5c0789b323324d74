#include "ps/collective/buckets.h"

namespace scavenger::ps {

Buckets::Buckets(const ChunkLayout& layout, const BucketSizes& sizes)
    : bucket_of_(layout.chunk_count()) {
  for (std::uint32_t chunk = layout.chunk_count(); chunk-- > 0;) {
    const ChunkRange range = layout.range(chunk);
    const std::uint64_t most = ranges_.size() <= 1 ? sizes.first_bytes : sizes.bytes;
    if (ranges_.empty() || (ranges_.back().size + range.size) * sizeof(float) > most) {
      ranges_.push_back({range.last(), 0});
      chunks_in_.push_back(0);
    }
    ranges_.back() = {range.first, ranges_.back().size + range.size};
    bucket_of_[chunk] = static_cast<std::uint32_t>(ranges_.size() - 1);
    ++chunks_in_.back();
  }
  begin_iteration();
}

void Buckets::begin_iteration() {
  missing_chunks_ = chunks_in_;
  next_ = 0;
}

}  // namespace scavenger::ps
