// A worker's connection to the controller, on a separate thread. It passes commands to the compute
// thread, sends that thread's messages, and sends heartbeats while it computes.
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

// Thread: the compute thread.
class ControlLink final {
 public:
  // Connects and authenticates. Throws ConnectionError.
  ControlLink(IoThread& io, const LaunchTicket& ticket, const Clock& clock);
  ~ControlLink();
  ControlLink(const ControlLink&) = delete;
  ControlLink& operator=(const ControlLink&) = delete;

  WorkerCommands& commands() { return commands_; }
  void post(ControlMessage message);
  // Tells the heartbeat that this iteration begins now.
  void note_iteration(std::uint64_t iteration);
  // The connection, for bulk data.
  std::shared_ptr<FrameConnection> connection() const { return connection_; }
  // Posts a last message. Returns when it has been written, at the latest after one second.
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
