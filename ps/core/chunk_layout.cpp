#include "ps/core/chunk_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger::ps {
namespace {

constexpr std::uint64_t kChunkAlignmentBytes = 64;  // a cache line

// Returns the requested size, or a smaller one if there would be fewer chunks than shards.
std::uint64_t fitting_chunk_bytes(std::uint64_t flat_size, std::uint64_t chunk_bytes,
                                  std::uint32_t shard_count) {
  const std::uint64_t lines = (flat_size * sizeof(float) - 1) / kChunkAlignmentBytes + 1;
  const std::uint64_t lines_per_shard = (lines - 1) / std::max(1U, shard_count) + 1;
  return std::min(chunk_bytes, lines_per_shard * kChunkAlignmentBytes);
}

}  // namespace

std::uint32_t ChunkLayout::count_chunks(std::uint64_t flat_size, std::uint64_t chunk_bytes) {
  if (flat_size == 0) {
    throw ConfigError({.what = "the model has no parameters",
                       .where = "model",
                       .remedy = "use a model with at least one trainable tensor"});
  }
  if (chunk_bytes == 0 || chunk_bytes % kChunkAlignmentBytes != 0) {
    throw ConfigError({.what = fmt::format("a chunk of {} bytes is not a positive multiple of {}",
                                           chunk_bytes, kChunkAlignmentBytes),
                       .where = "ps.chunk_bytes",
                       .remedy = "use a multiple of 64, such as 1048576"});
  }
  const std::uint64_t chunk_size = chunk_bytes / sizeof(float);
  const std::uint64_t count = (flat_size - 1) / chunk_size + 1;
  if (count > std::numeric_limits<std::uint32_t>::max()) {
    throw ConfigError({.what = fmt::format("{} floats in chunks of {} bytes are too many chunks",
                                           flat_size, chunk_bytes),
                       .where = "ps.chunk_bytes",
                       .remedy = "use larger chunks, such as 1048576"});
  }
  return static_cast<std::uint32_t>(count);
}

ChunkLayout::ChunkLayout(std::uint64_t flat_size, std::uint64_t chunk_bytes,
                         std::uint32_t shard_count)
    : flat_size_(flat_size),
      chunk_size_(fitting_chunk_bytes(flat_size, chunk_bytes, shard_count) / sizeof(float)),
      chunk_count_(count_chunks(flat_size, chunk_size_ * sizeof(float))),
      shard_count_(shard_count) {
  if (shard_count == 0 || shard_count > chunk_count_) {
    throw ConfigError({.what = fmt::format("{} shards cannot share {} chunks of {} bytes",
                                           shard_count, chunk_count_, chunk_bytes),
                       .where = "ps.shards",
                       .remedy = fmt::format("use 1 to {} shards", chunk_count_)});
  }
}

ChunkRange ChunkLayout::range(std::uint32_t chunk) const {
  SCAVENGER_CHECK(chunk < chunk_count_);
  const std::uint64_t first = chunk * chunk_size_;
  return {.first = first, .size = std::min(chunk_size_, flat_size_ - first)};
}

std::uint32_t ChunkLayout::chunk_at(std::uint64_t offset) const {
  SCAVENGER_CHECK(offset < flat_size_);
  return static_cast<std::uint32_t>(offset / chunk_size_);
}

std::uint32_t ChunkLayout::shard_of(std::uint32_t chunk) const {
  SCAVENGER_CHECK(chunk < chunk_count_);
  return chunk % shard_count_;
}

std::vector<std::uint32_t> ChunkLayout::chunks_of(std::uint32_t shard) const {
  SCAVENGER_CHECK(shard < shard_count_);
  std::vector<std::uint32_t> chunks;
  for (std::uint64_t chunk = shard; chunk < chunk_count_; chunk += shard_count_) {
    chunks.push_back(static_cast<std::uint32_t>(chunk));
  }
  return chunks;
}

std::uint64_t ChunkLayout::packed_size(std::uint32_t shard) const {
  SCAVENGER_CHECK(shard < shard_count_);
  const std::uint32_t last_chunk = shard + (chunk_count_ - 1 - shard) / shard_count_ * shard_count_;
  return packed_offset(last_chunk) + range(last_chunk).size;
}

std::uint64_t ChunkLayout::packed_offset(std::uint32_t chunk) const {
  return index_in_shard(chunk) * chunk_size_;
}

std::uint32_t ChunkLayout::index_in_shard(std::uint32_t chunk) const {
  SCAVENGER_CHECK(chunk < chunk_count_);
  return chunk / shard_count_;
}

}  // namespace scavenger::ps
