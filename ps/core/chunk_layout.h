// The division of a flat vector of parameters into chunks, and of the chunks among the shards.
//
// Chunks are numbered from the start of the flat vector; all but the last have the same size. Chunk
// c belongs to shard c % S, so that a range that backward finishes is spread over all shards.
#pragma once

#include <cstdint>
#include <vector>

namespace scavenger::ps {

struct ChunkRange {
  std::uint64_t first = 0;  // floats from the start of the flat vector
  std::uint64_t size = 0;   // floats

  std::uint64_t last() const { return first + size; }
  bool operator==(const ChunkRange&) const = default;
};

// A value that follows from the three arguments of its constructor, so that all processes of a job
// have the same layout. Thread: const, any thread.
class ChunkLayout final {
 public:
  // Chunks are smaller than chunk_bytes if some shards would otherwise get none. Throws ConfigError
  // if the vector is empty, if chunk_bytes is not a positive multiple of 64 (a cache line), or if a
  // shard gets no chunk nevertheless.
  ChunkLayout(std::uint64_t flat_size, std::uint64_t chunk_bytes, std::uint32_t shard_count);

  // Returns the number of chunks if there is one shard.
  static std::uint32_t count_chunks(std::uint64_t flat_size, std::uint64_t chunk_bytes);

  std::uint64_t flat_size() const { return flat_size_; }
  std::uint64_t chunk_size() const { return chunk_size_; }  // floats; the last may be shorter
  std::uint32_t chunk_count() const { return chunk_count_; }
  std::uint32_t shard_count() const { return shard_count_; }

  // The functions below require chunk < chunk_count(), shard < shard_count(), offset < flat_size().
  ChunkRange range(std::uint32_t chunk) const;
  std::uint32_t chunk_at(std::uint64_t offset) const;
  std::uint32_t shard_of(std::uint32_t chunk) const;

  // Returns the chunks in ascending order.
  std::vector<std::uint32_t> chunks_of(std::uint32_t shard) const;
  // A shard may keep its chunks packed, one after the other in ascending order. These functions
  // return the number of floats of the packed chunks, the offset of a chunk (of that shard) in
  // them, and the chunk's index in chunks_of().
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
