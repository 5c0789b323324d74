// A worker's connection to the controller, on a thread of its own: hands commands over, sends what
// the compute thread has to say, and keeps the heartbeat going while that computes.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>

#include "runtime/base/clock.h"
#include "runtime/net/io_thread.h"
#include "runtime/process/launch_ticket.h"
#include "runtime/protocol/control_channel.h"
#include "runtime/worker/worker_commands.h"

namespace scavenger {

// Thread: the compute thread, except where said.
class ControlLink final {
 public:
  // Connects and authenticates; throws ConnectionError.
  ControlLink(IoThread& io, const LaunchTicket& ticket, const Clock& clock);
  ~ControlLink();
  ControlLink(const ControlLink&) = delete;
  ControlLink& operator=(const ControlLink&) = delete;

  WorkerCommands& commands() { return commands_; }
  void post(ControlMessage message);
  // For the heartbeat: this iteration begins now.
  void note_iteration(std::uint64_t iteration);
  // For bulk data.
  std::shared_ptr<FrameConnection> connection() const { return connection_; }
  // Posts a last message, and returns when it has been written, or after a second.
  void post_last(ControlMessage message);

 private:
  awaitable<void> connect(const LaunchTicket& ticket);
  awaitable<void> read();
  void beat();

  IoThread& io_;
  const Clock& clock_;
  WorkerCommands commands_;
  std::shared_ptr<FrameConnection> connection_;
  std::future<void> reader_;
  asio::steady_timer heartbeat_;
  std::atomic<std::uint64_t> iteration_{0};
  std::atomic<double> iteration_start_seconds_;
};

}  // namespace scavenger
