#include "ps/shard/state_frames.h"

#include <span>
#include <utility>

#include "runtime/base/check.h"

namespace scavenger::ps {
namespace {

constexpr std::size_t kStreamQueueBytes = std::size_t{8} << 20;

}  // namespace

void LoadedPieces::expect(std::size_t vectors, std::size_t chunks) {
  chunks_ = chunks;
  missing_ = vectors * chunks;
  loaded_.assign(missing_, 0);
}

bool LoadedPieces::note(std::size_t vector, std::size_t chunk_index) {
  SCAVENGER_CHECK(vector * chunks_ + chunk_index < loaded_.size());
  return std::exchange(loaded_[vector * chunks_ + chunk_index], std::uint8_t{1}) == 0 &&
         --missing_ == 0;
}

awaitable<void> send_state(std::shared_ptr<FrameConnection> destination, ChunkLayout layout,
                           std::uint32_t shard, std::uint32_t membership_epoch,
                           const ShardSnapshot& snapshot) {
  std::vector<std::span<const float>> vectors = {snapshot.weights.span()};
  for (const FloatBuffer& state : snapshot.state) vectors.push_back(state.span());
  for (std::uint32_t index = 0; index < vectors.size(); ++index) {
    for (const std::uint32_t chunk : layout.chunks_of(shard)) {
      const auto piece =
          vectors[index].subspan(layout.packed_offset(chunk), layout.range(chunk).size);
      destination->post({.type = FrameType::kState,
                         .membership_epoch = membership_epoch,
                         .chunk = chunk,
                         .iteration = snapshot.progress.iteration,
                         .rank = index},
                        std::as_bytes(piece));
      co_await destination->wait_until_queued_at_most(kStreamQueueBytes);
    }
  }
  co_await destination->wait_until_queued_at_most(0);
}

}  // namespace scavenger::ps
