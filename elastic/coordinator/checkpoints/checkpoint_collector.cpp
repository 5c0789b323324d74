#include "elastic/coordinator/checkpoints/checkpoint_collector.h"

#include <utility>

#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

[[noreturn]] void refuse_piece(std::string what) {
  throw ProtocolError({.what = std::move(what), .where = {}, .remedy = {}});
}

}  // namespace

CheckpointCollector::CheckpointCollector(Checkpoint base, ps::ChunkLayout layout,
                                         const std::vector<std::string>& state_names)
    : checkpoint_(std::move(base)),
      layout_(layout),
      arrived_((1 + state_names.size()) * layout.chunk_count()),
      missing_pieces_(arrived_.size()) {
  checkpoint_.weights.resize(layout_.flat_size());
  vectors_.push_back(&checkpoint_.weights);
  for (const std::string& name : state_names) {
    FlatVector& slot = checkpoint_.optimizer.slots[name];
    slot.resize(layout_.flat_size());
    vectors_.push_back(&slot);
  }
}

std::span<std::byte> CheckpointCollector::destination(std::uint32_t shard,
                                                      const FrameHeader& header) {
  if (header.rank >= vectors_.size() || header.chunk >= layout_.chunk_count() ||
      header.iteration != checkpoint_.iteration || layout_.shard_of(header.chunk) != shard ||
      header.payload_bytes != layout_.range(header.chunk).size * sizeof(float))
    refuse_piece("a shard sent a piece of state that does not fit");
  if (arrived_[piece_of(header)] != 0) refuse_piece("a shard sent a piece of state twice");
  const ps::ChunkRange range = layout_.range(header.chunk);
  return std::as_writable_bytes(std::span(*vectors_[header.rank]).subspan(range.first, range.size));
}

void CheckpointCollector::arrived(const FrameHeader& header) {
  std::uint8_t& piece = arrived_[piece_of(header)];
  if (piece == 0) --missing_pieces_;
  piece = 1;
}

void CheckpointCollector::set_buffers(std::vector<float> values) {
  if (values.size() != checkpoint_.buffers.flat_size())
    refuse_piece("a worker sent buffers of another model");
  checkpoint_.buffer_values = std::move(values);
}

bool CheckpointCollector::misses_pieces_of(std::uint32_t shard) const {
  for (std::size_t piece = 0; piece < arrived_.size(); ++piece) {
    const auto chunk = static_cast<std::uint32_t>(piece % layout_.chunk_count());
    if (arrived_[piece] == 0 && layout_.shard_of(chunk) == shard) return true;
  }
  return false;
}

void CheckpointCollector::give_up(std::uint32_t shard) {
  for (std::size_t piece = 0; piece < arrived_.size(); ++piece) {
    const auto chunk = static_cast<std::uint32_t>(piece % layout_.chunk_count());
    if (layout_.shard_of(chunk) != shard || arrived_[piece] != 0) continue;
    arrived_[piece] = 1;
    --missing_pieces_;
  }
}

}  // namespace scavenger::elastic
