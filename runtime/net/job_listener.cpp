#include "runtime/net/job_listener.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/net/spawn.h"

namespace scavenger {
namespace {

constexpr double kHandshakeSeconds = 5.0;
constexpr auto kPauseAfterError = std::chrono::milliseconds(100);
constexpr auto kLogPeriod = std::chrono::seconds(10);
constexpr std::uint32_t kStrangersLogged = 20;  // per period
constexpr std::size_t kHandshakeLimit = 64;     // unfinished handshakes at a time

}  // namespace

JobListener::JobListener(asio::io_context& io, const Endpoint& endpoint,
                         const JobCredentials& credentials, std::size_t queue_limit_bytes,
                         Serve serve)
    : io_(io),
      acceptor_(listen_on(io, endpoint)),
      pause_(io),
      credentials_(credentials),
      queue_limit_bytes_(queue_limit_bytes),
      serve_(std::move(serve)) {
  accept_next();
}

void JobListener::accept_next() {
  acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) return accept_later();
    // The oldest unfinished handshake makes room, since a member of the job completes its own at
    // once.
    if (strangers_.size() >= kHandshakeLimit) {
      strangers_.front()->reset();
      strangers_.pop_front();
    }
    spawn(io_, welcome(std::make_shared<JobSocket>(std::move(socket))));
    accept_next();
  });
}

void JobListener::accept_later() {
  log_warning("a connection could not be taken, as when there are too many open files");
  pause_.expires_after(kPauseAfterError);
  pause_.async_wait([this](const boost::system::error_code& error) {
    if (!error) accept_next();
  });
}

awaitable<void> JobListener::authenticate(std::shared_ptr<JobSocket> socket) {
  strangers_.push_back(socket);
  try {
    co_await authenticate_client(*socket, credentials_, kHandshakeSeconds);
  } catch (const Error&) {
    strangers_.remove(socket);
    throw;
  }
  strangers_.remove(socket);
}

awaitable<void> JobListener::welcome(std::shared_ptr<JobSocket> socket) {
  const std::string peer = socket->peer();
  std::shared_ptr<FrameConnection> connection;
  try {
    co_await authenticate(socket);
    connection = std::make_shared<FrameConnection>(std::move(*socket), queue_limit_bytes_);
    co_await serve_(connection);
  } catch (const Error& failure) {
    const std::string text =
        fmt::format("the connection of {} was ended: {}", peer, failure.what());
    connection ? log_warning("{}", text) : log_stranger(text);
  }
  if (connection) connection->close();
}

// Limits the lines of a period, since a flood of connections must not fill the disk. Strangers come
// over real sockets only, and only the log depends on this clock.
void JobListener::log_stranger(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (now >= log_period_end_) {
    log_period_end_ = now + kLogPeriod;
    strangers_logged_ = 0;
  }
  if (++strangers_logged_ <= kStrangersLogged) log_warning("{}", text);
  if (strangers_logged_ == kStrangersLogged)
    log_warning("others who are put out in these {} s are not written down", kLogPeriod.count());
}

}  // namespace scavenger
