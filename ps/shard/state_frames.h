// The state of a shard as kState frames: one chunk of one vector each, vector 0 the weights, then
// those of the optimizer.
#pragma once

#include <cstdint>
#include <memory>

#include "ps/core/loaded_pieces.h"
#include "ps/core/shard_state.h"
#include "runtime/net/frame_connection.h"

namespace scavenger::ps {

// Posts all of it. The snapshot must live until it was written.
awaitable<void> send_state(std::shared_ptr<FrameConnection> destination, ChunkLayout layout,
                           std::uint32_t shard, std::uint32_t membership_epoch,
                           const ShardSnapshot& snapshot);

}  // namespace scavenger::ps
