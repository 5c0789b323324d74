#include "ps/shard/state_frames.h"

#include <span>
#include <vector>

namespace scavenger::ps {
namespace {

constexpr std::size_t kStreamQueueBytes = std::size_t{8} << 20;

}  // namespace

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
}

}  // namespace scavenger::ps
