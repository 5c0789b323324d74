// How a flat vector of parameters is cut into chunks, and which shard owns which chunk.
//
// Chunks are numbered from the start of the flat vector; all but the last have the same size. Chunk
// c belongs to shard c % S, so that what backward produces in one stretch is spread over all
// shards.
#pragma once

#include <cstdint>
#include <vector>

namespace scavenger::ps {

struct ChunkRange {
  std::uint64_t first = 0;  // in floats from the start of the flat vector
  std::uint64_t size = 0;   // in floats

  std::uint64_t last() const { return first + size; }
  bool operator==(const ChunkRange&) const = default;
};

// A value; all of it follows from the three numbers it is made of, so every process of a job that
// is given the same three agrees. Thread: const, any thread.
class ChunkLayout final {
 public:
  // Chunks are smaller than chunk_bytes where some shards would otherwise get none. Throws
  // ConfigError where the vector is empty, chunk_bytes is not a positive multiple of 64 (a cache
  // line), or a shard would be left without a chunk all the same.
  ChunkLayout(std::uint64_t flat_size, std::uint64_t chunk_bytes, std::uint32_t shard_count);

  // The number of chunks of such a vector on one shard.
  static std::uint32_t count_chunks(std::uint64_t flat_size, std::uint64_t chunk_bytes);

  std::uint64_t flat_size() const { return flat_size_; }
  std::uint64_t chunk_size() const { return chunk_size_; }  // floats; the last may be shorter
  std::uint32_t chunk_count() const { return chunk_count_; }
  std::uint32_t shard_count() const { return shard_count_; }

  // The functions below require chunk < chunk_count(), shard < shard_count(), offset < flat_size().
  ChunkRange range(std::uint32_t chunk) const;
  std::uint32_t chunk_at(std::uint64_t offset) const;
  std::uint32_t shard_of(std::uint32_t chunk) const;

  // Ascending.
  std::vector<std::uint32_t> chunks_of(std::uint32_t shard) const;
  // A shard may keep its chunks one after the other, in ascending order: how many floats that is,
  // where in it a chunk (of that shard) starts, and the chunk's place in chunks_of().
  std::uint64_t packed_size(std::uint32_t shard) const;
  std::uint64_t packed_offset(std::uint32_t chunk) const;
  std::uint32_t index_in_shard(std::uint32_t chunk) const;

  bool operator==(const ChunkLayout&) const = default;

 private:
  std::uint64_t flat_size_;
  std::uint64_t chunk_size_;
  std::uint32_t chunk_count_;
  std::uint32_t shard_count_;
};

}  // namespace scavenger::ps
