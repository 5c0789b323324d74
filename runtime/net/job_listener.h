// A listening port that serves the processes of a job. Connections that do not authenticate in time
// are closed and cost little.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "runtime/net/authentication.h"
#include "runtime/net/frame_connection.h"

namespace scavenger {

// Thread: the one thread of the io_context. Must outlive the connections that it serves.
class JobListener final {
 public:
  // Serves one authenticated connection to its end. If it throws, the error is logged and the
  // connection closed.
  using Serve = std::function<awaitable<void>(std::shared_ptr<FrameConnection>)>;

  // Port 0 means any free port. Throws SystemError if it cannot listen at `endpoint`.
  JobListener(asio::io_context& io, const Endpoint& endpoint, const JobCredentials& credentials,
              std::size_t queue_limit_bytes, Serve serve);

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  void accept_next();
  void accept_later();
  awaitable<void> welcome(std::shared_ptr<JobSocket> socket);
  awaitable<void> authenticate(std::shared_ptr<JobSocket> socket);
  void log_stranger(const std::string& text);

  asio::io_context& io_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  const JobCredentials credentials_;
  const std::size_t queue_limit_bytes_;
  const Serve serve_;
  std::list<std::shared_ptr<JobSocket>> strangers_;  // unfinished handshakes, oldest first
  std::chrono::steady_clock::time_point log_period_end_;
  std::uint32_t strangers_logged_ = 0;  // in the current period
};

}  // namespace scavenger
