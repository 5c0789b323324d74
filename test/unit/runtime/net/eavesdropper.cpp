#include "test/unit/runtime/net/eavesdropper.h"

#include <chrono>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger {
namespace {

constexpr double kListenSeconds = 100.0;

Endpoint endpoint_of(const tcp::acceptor& acceptor) {
  return {acceptor.local_endpoint().address().to_string(), acceptor.local_endpoint().port()};
}

}  // namespace

OverheardConversation::OverheardConversation(const std::string& address, const JobCredentials& job)
    : members_(listen_on(io_, {address, 0})),
      between_(listen_on(io_, {address, 0})),
      to_client_(io_),
      to_server_(io_) {
  asio::co_spawn(io_, serve(job), asio::detached);
  asio::co_spawn(io_, stand_between(), asio::detached);
  asio::co_spawn(io_, join(endpoint_of(between_), job), asio::detached);
  while (!client_ && ending_.empty()) SCAVENGER_CHECK(io_.run_one_for(std::chrono::minutes(1)) > 0);
}

OverheardConversation::~OverheardConversation() = default;

void OverheardConversation::client_sends(const std::string& text) {
  received_.clear();
  client_->post({}, std::as_bytes(std::span(text)));
  while (received_.empty() && ending_.empty())
    SCAVENGER_CHECK(io_.run_one_for(std::chrono::minutes(1)) > 0);
}

awaitable<void> OverheardConversation::serve(JobCredentials job) {
  try {
    JobSocket socket(co_await members_.async_accept(use_awaitable));
    co_await authenticate_client(socket, job, kListenSeconds);
    auto connection = std::make_shared<FrameConnection>(std::move(socket), SIZE_MAX);
    for (;;) {
      const FrameHeader header = co_await connection->receive_header(1U << 20);
      std::string text(header.payload_bytes, ' ');
      co_await connection->receive_payload(std::as_writable_bytes(std::span(text)));
      received_ = text;
    }
  } catch (const Error& error) {
    ending_ = error.what();
  }
}

awaitable<void> OverheardConversation::join(Endpoint endpoint, JobCredentials job) {
  JobSocket socket = co_await connect_authenticated(endpoint, job, kListenSeconds);
  client_ = std::make_shared<FrameConnection>(std::move(socket), SIZE_MAX);
}

awaitable<void> OverheardConversation::stand_between() {
  to_client_ = co_await between_.async_accept(use_awaitable);
  co_await to_server_.async_connect(members_.local_endpoint(), use_awaitable);
  asio::co_spawn(io_, pass_on(to_server_, to_client_, false), asio::detached);
  co_await pass_on(to_client_, to_server_, true);
}

awaitable<void> OverheardConversation::pass_on(tcp::socket& from, tcp::socket& to, bool listens) {
  std::vector<std::byte> piece(1 << 16);
  for (;;) {
    const auto [error, count] =
        co_await from.async_read_some(asio::buffer(piece), asio::as_tuple(use_awaitable));
    if (error) co_return;
    if (listens) {
      overheard_.insert(overheard_.end(), piece.data(), piece.data() + count);
      if (changes_) piece[count / 2] ^= std::byte{1};
    }
    const asio::const_buffer buffer(piece.data(), count);
    const auto [failure, written] =
        co_await asio::async_write(to, buffer, asio::as_tuple(use_awaitable));
    if (failure) co_return;
  }
}

}  // namespace scavenger
