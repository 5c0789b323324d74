#include "runtime/net/job_listener.h"

#include <chrono>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/log.h"

namespace scavenger {
namespace {

constexpr double kHandshakeSeconds = 5.0;
constexpr auto kPauseAfterError = std::chrono::milliseconds(100);
constexpr std::uint32_t kHandshakeLimit = 64;  // strangers that may keep us waiting at a time

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
    if (handshakes_ < kHandshakeLimit)
      asio::co_spawn(io_, welcome(std::move(socket)), asio::detached);
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

awaitable<tcp::socket> JobListener::authenticate(tcp::socket socket) {
  ++handshakes_;
  try {
    socket = co_await authenticate_client(std::move(socket), credentials_, kHandshakeSeconds);
  } catch (const Error&) {
    --handshakes_;
    throw;
  }
  --handshakes_;
  co_return std::move(socket);
}

awaitable<void> JobListener::welcome(tcp::socket socket) {
  std::shared_ptr<FrameConnection> connection;
  try {
    socket = co_await authenticate(std::move(socket));
    connection = std::make_shared<FrameConnection>(std::move(socket), queue_limit_bytes_);
    co_await serve_(connection);
  } catch (const Error& failure) {
    log_warning("a connection was ended: {}", failure.what());
  }
  if (connection) connection->close();
}

}  // namespace scavenger
