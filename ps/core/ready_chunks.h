// Tracks which chunks have final gradients, while backward finishes ranges that do not follow
// chunks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ps/core/chunk_layout.h"
#include "runtime/base/check.h"

namespace scavenger::ps {

// Thread: one.
class ReadyChunks final {
 public:
  explicit ReadyChunks(ChunkLayout layout) : layout_(layout), unfinished_(layout.chunk_count()) {}

  void begin_iteration() {
    for (std::uint32_t chunk = 0; chunk < layout_.chunk_count(); ++chunk)
      unfinished_[chunk] = layout_.range(chunk).size;
  }

  // Records that gradients at [first, last) are final. Calls chunk_ready(chunk) for each chunk that
  // has become final.
  template <typename ChunkReady>
  void finish(std::uint64_t first, std::uint64_t last, const ChunkReady& chunk_ready) {
    SCAVENGER_CHECK(first < last && last <= layout_.flat_size());
    for (std::uint32_t chunk = layout_.chunk_at(first); first < last; ++chunk) {
      const std::uint64_t end = std::min(last, layout_.range(chunk).last());
      SCAVENGER_CHECK(unfinished_[chunk] >= end - first);
      unfinished_[chunk] -= end - first;
      if (unfinished_[chunk] == 0) chunk_ready(chunk);
      first = end;
    }
  }

  bool all_ready() const {
    return std::all_of(unfinished_.begin(), unfinished_.end(),
                       [](std::uint64_t floats) { return floats == 0; });
  }

 private:
  const ChunkLayout layout_;
  std::vector<std::uint64_t> unfinished_;  // number of floats, by chunk
};

}  // namespace scavenger::ps
