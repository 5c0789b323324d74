// The interface of a shard to the controller, independent of the transport to the workers: it joins
// memberships, loads state, goes back to an earlier iteration, and sends snapshots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ps/core/shard_state.h"
#include "runtime/net/frame_connection.h"
#include "runtime/protocol/control_message.h"

namespace scavenger::ps {

// Thread: the one thread of the io_context. All functions throw ProtocolError if the controller's
// request is not possible.
class ShardService {
 public:
  virtual ~ShardService() = default;

  // Returns the port for workers; 0 if they do not connect.
  virtual std::uint16_t port() const = 0;

  // Joins the job, or, from the second call on, a new membership. The state is the present one as
  // it was before the membership's first iteration if `message.goes_on`; the one from load_state(),
  // which must be complete before workers are served, if `message.has_state`; otherwise initial
  // weights from a worker.
  virtual void configure(const ConfigureShard& message) = 0;

  // state_payload() returns the buffer for the payload of a kState frame. load_state() loads it,
  // and returns true for the last piece. It ignores a piece that was sent before a halt().
  virtual std::vector<std::byte>& state_payload() = 0;
  virtual bool load_state(const FrameHeader& header) = 0;

  // Ignores everything that arrives until configure(). Returns the position of the shard.
  virtual Halted halt() = 0;

  // Returns zeros before the first state.
  virtual ShardProgress progress() const = 0;

  // Begins a snapshot of the boundary after `iteration` iterations. Requires that no other snapshot
  // is being copied; one that is still being sent is not affected.
  virtual void begin_snapshot(std::uint64_t iteration) = 0;
  // Copies the snapshot while training goes on, and posts its kState frames on `destination`.
  virtual awaitable<void> send_snapshot(std::shared_ptr<FrameConnection> destination) = 0;
};

}  // namespace scavenger::ps
