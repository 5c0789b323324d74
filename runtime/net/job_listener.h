// A port at which the processes of a job are served; strangers are put out before they cost
// anything.
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

// Thread: the io_context's, which is one. Must live as long as connections are being served.
class JobListener final {
 public:
  // Serves one authenticated connection to its end. What it throws is logged, and ends the
  // connection.
  using Serve = std::function<awaitable<void>(std::shared_ptr<FrameConnection>)>;

  // Throws SystemError where it cannot listen there; port 0: any free one.
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
  std::list<std::shared_ptr<JobSocket>> strangers_;  // handshakes under way, the oldest first
  std::chrono::steady_clock::time_point log_period_end_;
  std::uint32_t strangers_logged_ = 0;  // in this period
};

}  // namespace scavenger
