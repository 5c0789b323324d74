// What a scavenger-ps process does for the controller, however the workers reach it: take its place
// in the job, load state, go back to an earlier iteration, hand out snapshots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ps/core/shard_state.h"
#include "runtime/net/frame_connection.h"
#include "runtime/protocol/control_message.h"

namespace scavenger::ps {

// Thread: the io_context's, which is one. All functions throw ProtocolError where the controller
// asks for what is not possible.
class ShardService {
 public:
  virtual ~ShardService() = default;

  // Where workers connect; 0 where they do not.
  virtual std::uint16_t port() const = 0;

  // Takes a place in the job, or, from the second time on, a new membership: with what it has, as
  // it was before the membership's first iteration, where `message.goes_on`; with what load_state()
  // brings, all of it before workers are served, where `message.has_state`; else with initial
  // weights from a worker.
  virtual void configure(const ConfigureShard& message) = 0;

  // Where the payload of a kState frame goes, and that it is there. True where that was the last
  // piece; one that was sent before a halt() changes nothing.
  virtual std::vector<std::byte>& state_payload() = 0;
  virtual bool load_state(const FrameHeader& header) = 0;

  // From now on, until configure(), nothing that comes changes anything. Where the shard stands.
  virtual Halted halt() = 0;

  // Zeros before there is anything.
  virtual ShardProgress progress() const = 0;

  // Begins a snapshot of the boundary after `iteration` iterations. Not while another is being
  // copied; one that is still being sent stays as it is.
  virtual void begin_snapshot(std::uint64_t iteration) = 0;
  // Copies it while training goes on, and posts the kState frames on `destination`.
  virtual awaitable<void> send_snapshot(std::shared_ptr<FrameConnection> destination) = 0;
};

}  // namespace scavenger::ps
