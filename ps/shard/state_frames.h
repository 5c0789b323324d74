// The state of a shard as kState frames: one chunk of one vector each, vector 0 the weights, then
// those of the optimizer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ps/core/shard_state.h"
#include "runtime/net/frame_connection.h"

namespace scavenger::ps {

// Which pieces of a state have arrived. A piece that comes twice does not stand for another.
class LoadedPieces final {
 public:
  void expect(std::size_t vectors, std::size_t chunks);
  // True with the last missing one. Requires a piece that is expected.
  bool note(std::size_t vector, std::size_t chunk_index);
  bool complete() const { return missing_ == 0; }

 private:
  std::vector<std::uint8_t> loaded_;
  std::size_t chunks_ = 0;
  std::size_t missing_ = 0;
};

// Posts all of it, and ends when it was written. The snapshot must live until then.
awaitable<void> send_state(std::shared_ptr<FrameConnection> destination, ChunkLayout layout,
                           std::uint32_t shard, std::uint32_t membership_epoch,
                           const ShardSnapshot& snapshot);

}  // namespace scavenger::ps
