// Gives a process its part of a checkpoint's weights and optimizer state.
#pragma once

#include <memory>

#include "elastic/coordinator/staffing/cluster.h"
#include "runtime/config/job_config.h"
#include "runtime/net/frame_connection.h"

namespace scavenger::elastic {

// Requires require_optimizer_state(). Sends the part's frames, a few at a time, in the background
// of `io`; ends if the connection is lost.
void send_state(asio::io_context& io, std::shared_ptr<FrameConnection> connection,
                const OptimizerConfig& optimizer, StatePart part);

}  // namespace scavenger::elastic
