#include "runtime/protocol/control_channel.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace scavenger {

void post_message(FrameConnection& connection, const ControlMessage& message) {
  connection.post_owned({.type = FrameType::kControl}, encode(message));
}

awaitable<ControlArrival> receive_arrival(FrameConnection& connection,
                                          std::uint32_t state_payload_limit_bytes) {
  const std::uint32_t limit = std::max(kControlMessageLimitBytes, state_payload_limit_bytes);
  const FrameHeader header = co_await connection.receive_header(limit);
  if (header.type == FrameType::kState && header.payload_bytes <= state_payload_limit_bytes)
    co_return header;
  if (header.type != FrameType::kControl)
    throw ProtocolError(
        {.what = "a frame of bulk data came on a control connection", .where = {}, .remedy = {}});
  std::vector<std::byte> payload(header.payload_bytes);
  co_await connection.receive_payload(payload);
  co_return decode_control_message(payload);
}

awaitable<ControlMessage> receive_message(FrameConnection& connection) {
  ControlArrival arrival = co_await receive_arrival(connection, 0);
  co_return std::get<ControlMessage>(std::move(arrival));
}

}  // namespace scavenger
