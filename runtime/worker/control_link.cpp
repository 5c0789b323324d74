#include "runtime/worker/control_link.h"

#include <boost/asio/use_future.hpp>
#include <chrono>
#include <utility>

#include "runtime/base/error.h"

namespace scavenger {
namespace {

constexpr double kConnectSeconds = 20.0;
constexpr auto kLastMessageTime = std::chrono::seconds(1);

}  // namespace

ControlLink::ControlLink(IoThread& io, const LaunchTicket& ticket, const Clock& clock)
    : io_(io),
      clock_(clock),
      heartbeat_(io.context()),
      iteration_start_seconds_(clock.now_seconds()) {
  asio::co_spawn(io_.context(), connect(ticket), asio::use_future).get();
  reader_ = asio::co_spawn(io_.context(), read(), asio::use_future);
  asio::post(io_.context(), [this] { beat(); });
}

ControlLink::~ControlLink() {
  asio::post(io_.context(), asio::use_future([this] {
               heartbeat_.cancel();
               connection_->close();
             }))
      .get();
  reader_.wait();  // the reader ends with its connection
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
  const auto write_out = [](std::shared_ptr<FrameConnection> connection) -> awaitable<void> {
    co_await connection->wait_until_queued_at_most(0);
    connection->close();
  };
  asio::co_spawn(io_.context(), write_out(connection_), asio::use_future)
      .wait_for(kLastMessageTime);
}

awaitable<void> ControlLink::connect(const LaunchTicket& ticket) {
  JobSocket socket =
      co_await connect_authenticated(ticket.controller, ticket.credentials, kConnectSeconds);
  connection_ = std::make_shared<FrameConnection>(std::move(socket), kControlQueueLimitBytes);
}

awaitable<void> ControlLink::read() {
  try {
    for (;;) {
      ControlArrival arrival = co_await receive_arrival(*connection_, kControlMessageLimitBytes);
      if (auto* const message = std::get_if<ControlMessage>(&arrival)) {
        commands_.put(std::move(*message));
        continue;
      }
      const FrameHeader& header = std::get<FrameHeader>(arrival);
      StatePiece piece;
      piece.membership_epoch = header.membership_epoch;
      piece.vector = header.rank;
      piece.chunk = header.chunk;
      piece.floats.resize(header.payload_bytes);
      co_await connection_->receive_payload(piece.floats);
      commands_.put_state(std::move(piece));
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
