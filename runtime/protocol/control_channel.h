// Sends and receives control messages over a frame connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "runtime/net/frame_connection.h"
#include "runtime/protocol/control_message.h"

namespace scavenger {

inline constexpr std::size_t kControlQueueLimitBytes = std::size_t{256} << 20;

void post_message(FrameConnection& connection, const ControlMessage& message);

// An arrival on a control connection: a message, or the header of a kState frame, whose payload
// must be read next.
using ControlArrival = std::variant<ControlMessage, FrameHeader>;

// `state_payload_limit_bytes`: 0 if no kState frames are expected.
awaitable<ControlArrival> receive_arrival(FrameConnection& connection,
                                          std::uint32_t state_payload_limit_bytes);

// Returns the next message of a connection that carries only messages.
awaitable<ControlMessage> receive_message(FrameConnection& connection);

}  // namespace scavenger
