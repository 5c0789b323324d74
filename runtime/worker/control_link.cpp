#include "runtime/worker/control_link.h"

#include <boost/asio/use_future.hpp>
#include <chrono>
#include <thread>
#include <utility>

#include "runtime/base/error.h"

namespace scavenger {
namespace {

constexpr double kConnectSeconds = 20.0;

}  // namespace

ControlLink::ControlLink(IoThread& io, const LaunchTicket& ticket, const Clock& clock)
    : io_(io),
      clock_(clock),
      heartbeat_(io.context()),
      iteration_start_seconds_(clock.now_seconds()) {
  asio::co_spawn(io_.context(), connect(ticket), asio::use_future).get();
  asio::co_spawn(io_.context(), read(), asio::detached);
  asio::post(io_.context(), [this] { beat(); });
}

ControlLink::~ControlLink() {
  // The reader ends with its connection; after the second round trip through the loop it is gone.
  asio::post(io_.context(), asio::use_future([this] {
               heartbeat_.cancel();
               connection_->close();
             }))
      .get();
  asio::post(io_.context(), asio::use_future([] {})).get();
}

void ControlLink::post(ControlMessage message) {
  asio::post(io_.context(), [connection = connection_, message = std::move(message)] {
    post_message(*connection, message);
  });
}

void ControlLink::note_iteration(std::uint64_t iteration) {
  iteration_start_seconds_ = clock_.now_seconds();
  iteration_ = iteration;
}

void ControlLink::post_last(ControlMessage message) {
  post(std::move(message));
  asio::post(io_.context(), [connection = connection_] { connection->close_when_written(); });
  for (int i = 0; i < 100; ++i) {
    const bool open =
        asio::post(io_.context(), asio::use_future([this] { return connection_->is_open(); }))
            .get();
    if (!open) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

awaitable<void> ControlLink::connect(const LaunchTicket& ticket) {
  tcp::socket socket =
      co_await connect_authenticated(ticket.controller, ticket.credentials, kConnectSeconds);
  connection_ = std::make_shared<FrameConnection>(std::move(socket), kControlQueueLimitBytes);
}

awaitable<void> ControlLink::read() {
  try {
    for (;;) {
      ControlMessage message = co_await receive_message(*connection_);
      commands_.put(std::move(message));
    }
  } catch (const Error&) {
    commands_.fail(std::current_exception());
  }
}

void ControlLink::beat() {
  const Heartbeat heartbeat{iteration_, clock_.now_seconds() - iteration_start_seconds_};
  post_message(*connection_, heartbeat);
  heartbeat_.expires_after(std::chrono::milliseconds(static_cast<int>(kHeartbeatSeconds * 1000)));
  heartbeat_.async_wait([this](const boost::system::error_code& error) {
    if (!error) beat();
  });
}

}  // namespace scavenger
