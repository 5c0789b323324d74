// The state of a shard as kState frames. Each contains one chunk of one vector; vector 0 holds the
// weights, the others the optimizer state.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ps/core/shard_state.h"
#include "runtime/net/frame_connection.h"

namespace scavenger::ps {

// Records which pieces of a state have arrived. A piece that arrives twice counts once.
class LoadedPieces final {
 public:
  void expect(std::size_t vectors, std::size_t chunks);
  // Records a piece. Returns true if it was the last missing one. Requires an expected piece.
  bool note(std::size_t vector, std::size_t chunk_index);
  bool complete() const { return missing_ == 0; }

 private:
  std::vector<std::uint8_t> loaded_;
  std::size_t chunks_ = 0;
  std::size_t missing_ = 0;
};

// Posts the whole snapshot, and returns when it has been written. The snapshot must live until
// then.
awaitable<void> send_state(std::shared_ptr<FrameConnection> destination, ChunkLayout layout,
                           std::uint32_t shard, std::uint32_t membership_epoch,
                           const ShardSnapshot& snapshot);

}  // namespace scavenger::ps
