// Gathers one checkpoint: the pieces of weights and optimizer state that the shards send, and the
// model's buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ps/core/chunk_layout.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/net/frame.h"

namespace scavenger::elastic {

// Pure: the caller moves the bytes. Throws ProtocolError if a piece does not fit.
class CheckpointCollector final {
 public:
  // `base`: everything but weights, optimizer state and buffers. `state_names`: the optimizer's
  // vectors, in order.
  CheckpointCollector(Checkpoint base, ps::ChunkLayout layout,
                      const std::vector<std::string>& state_names);

  CheckpointCollector(const CheckpointCollector&) = delete;  // it points into itself
  CheckpointCollector& operator=(const CheckpointCollector&) = delete;

  // Where the payload of this kState frame of a shard belongs. Not where it has arrived before: it
  // may be on its way to disk.
  std::span<std::byte> destination(std::uint32_t shard, const FrameHeader& header);
  void arrived(const FrameHeader& header);
  void set_optimizer_steps(std::uint64_t steps) { checkpoint_.optimizer.step_count = steps; }
  void set_buffers(std::vector<float> values);

  // What this shard has not sent will not come.
  void give_up(std::uint32_t shard);
  bool misses_pieces_of(std::uint32_t shard) const;

  // Nothing is awaited any more.
  bool complete() const { return missing_pieces_ == 0; }
  // Requires complete().
  const Checkpoint& checkpoint() const { return checkpoint_; }

 private:
  std::size_t piece_of(const FrameHeader& header) const {
    return std::size_t{header.rank} * layout_.chunk_count() + header.chunk;
  }

  Checkpoint checkpoint_;
  ps::ChunkLayout layout_;
  std::vector<FlatVector*> vectors_;   // 0: weights, then the optimizer's
  std::vector<std::uint8_t> arrived_;  // by vector and chunk
  std::size_t missing_pieces_;
};

}  // namespace scavenger::elastic
