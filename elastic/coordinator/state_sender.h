// Gives a shard its part of a checkpoint's weights and optimizer state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "ps/core/chunk_layout.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/config/job_config.h"
#include "runtime/net/frame_connection.h"

namespace scavenger::elastic {

// Throws CheckpointError if the checkpoint does not hold the state of this kind of optimizer.
// `where` is the checkpoint's folder.
void require_same_optimizer(const OptimizerConfig& optimizer, const Checkpoint& checkpoint,
                            const std::filesystem::path& where);

// Requires require_same_optimizer(). Sends kState frames of membership `epoch`, a few at a time, in
// the background of `io`; ends where the connection is lost. Nothing is copied: the checkpoint is
// kept until all of it was written.
void send_state(asio::io_context& io, std::shared_ptr<FrameConnection> connection,
                std::shared_ptr<const Checkpoint> checkpoint, const OptimizerConfig& optimizer,
                const ps::ChunkLayout& layout, std::uint32_t shard, std::uint32_t epoch);

}  // namespace scavenger::elastic
