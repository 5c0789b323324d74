// What replicas in host memory have in common, whoever steps them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ps/core/chunk_layout.h"
#include "ps/core/float_buffer.h"
#include "ps/core/reduction.h"
#include "runtime/training/replica.h"

namespace scavenger::ps {

// Thread: as Replica.
class HostMemoryReplica : public Replica {
 public:
  std::span<float> gradients() override { return gradients_.span(); }

  void clear(std::uint64_t iteration) override;
  void load(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
            std::span<const float> values) override;
  void save(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
            std::span<float> values) override;
  void save_gradients(std::uint64_t first, std::span<float> values) override;
  void load_gradients(std::uint64_t first, std::span<const float> values) override;

 protected:
  // Requires a layout with one shard. `clip_norm`: 0: gradients are not clipped.
  HostMemoryReplica(const ChunkLayout& layout, double clip_norm);

  bool clips() const { return clip_norm_ > 0.0; }
  // Calls what(chunk, its range) for each chunk.
  template <typename Do>
  void for_chunks(FlatRange range, const Do& what) const {
    for (std::uint64_t first = range.first; first < range.last();) {
      const std::uint32_t chunk = layout_.chunk_at(first);
      what(chunk, layout_.range(chunk));
      first = layout_.range(chunk).last();
    }
  }
  std::span<float> gradient_of(const ChunkRange& part) {
    return gradients_.span().subspan(part.first, part.size);
  }

  const ChunkLayout layout_;
  const double clip_norm_;
  FloatBuffer gradients_;
  ChunkReducer reducer_;

  // State of the iteration, by chunk.
  std::vector<double> local_sqr_norms_;
  std::vector<double> global_sqr_norms_;
};

}  // namespace scavenger::ps
