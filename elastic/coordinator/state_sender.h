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

// Requires require_optimizer_state(). Sends kState frames of membership `epoch`, a few at a time,
// in the background of `io`; ends where the connection is lost. Nothing is copied: the checkpoint
// is kept until all of it was written.
void send_state(asio::io_context& io, std::shared_ptr<FrameConnection> connection,
                std::shared_ptr<const Checkpoint> checkpoint, const OptimizerConfig& optimizer,
                const ps::ChunkLayout& layout, std::uint32_t shard, std::uint32_t epoch);

// Throws CheckpointError where the checkpoint was trained with an optimizer that keeps other state.
// `folder` is the checkpoint's.
void require_optimizer_state(const OptimizerConfig& optimizer, const Checkpoint& checkpoint,
                             const std::filesystem::path& folder);

}  // namespace scavenger::elastic
