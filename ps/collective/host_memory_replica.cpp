#include "ps/collective/host_memory_replica.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace scavenger::ps {

HostMemoryReplica::HostMemoryReplica(const ChunkLayout& layout, double clip_norm)
    : layout_(layout),
      clip_norm_(clip_norm),
      gradients_(layout_.flat_size()),
      local_sqr_norms_(layout_.chunk_count()),
      global_sqr_norms_(layout_.chunk_count()) {
  SCAVENGER_CHECK(layout_.shard_count() == 1);
  std::ranges::fill(gradients_.span(), 0.0F);
}

void HostMemoryReplica::clear(std::uint64_t iteration) {
  for (std::uint32_t index = 0; index <= state_vectors(); ++index)
    std::ranges::fill(vector(index, iteration), 0.0F);
}

void HostMemoryReplica::load(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
                             std::span<const float> values) {
  std::ranges::copy(values, vector(index, iteration).subspan(first, values.size()).begin());
}

void HostMemoryReplica::save(std::uint32_t index, std::uint64_t iteration, std::uint64_t first,
                             std::span<float> values) {
  std::ranges::copy(vector(index, iteration).subspan(first, values.size()), values.begin());
}

void HostMemoryReplica::save_gradients(std::uint64_t first, std::span<float> values) {
  std::ranges::copy(gradients_.span().subspan(first, values.size()), values.begin());
}

void HostMemoryReplica::load_gradients(std::uint64_t first, std::span<const float> values) {
  std::ranges::copy(values, gradients_.span().subspan(first, values.size()).begin());
}

}  // namespace scavenger::ps
