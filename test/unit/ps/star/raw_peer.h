// A peer of a group that keeps to the protocol only where the test wants it to.
#pragma once

#include <boost/asio/use_future.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/ps/star/star_group.h"

namespace scavenger::ps {

// Reads what comes until the other side has ended the connection; returns how many frames it was.
inline awaitable<std::size_t> read_to_the_end(std::shared_ptr<FrameConnection> connection) {
  std::size_t frames = 0;
  try {
    for (;; ++frames) {
      const FrameHeader header = co_await connection->receive_header(kRoundBytes);
      std::vector<std::byte> payload(header.payload_bytes);
      if (!payload.empty()) co_await connection->receive_payload(payload);
    }
  } catch (const ConnectionError&) {
  }
  co_return frames;
}

class RawPeer final {
 public:
  explicit RawPeer(std::uint16_t port, const std::string& address = "127.0.0.1") {
    asio::co_spawn(io_.context(), connect(Endpoint{address, port}), asio::use_future).get();
  }
  ~RawPeer() {
    asio::post(io_.context(), asio::use_future([this] { connection_->close(); })).get();
  }

  bool is_encrypted() const { return is_encrypted_; }
  void say(const FrameHeader& header, std::size_t payload_bytes = 0) {
    asio::post(io_.context(), asio::use_future([&] {
                 connection_->post_owned(header, std::vector<std::byte>(payload_bytes));
               }))
        .get();
  }
  // Begins as the peer of this rank.
  void join(std::uint32_t epoch, std::uint32_t rank) {
    say({.type = FrameType::kPull, .membership_epoch = epoch, .rank = rank});
  }
  // Returns when the centre has ended the connection: how many frames it has sent.
  std::size_t frames_to_the_end() {
    return asio::co_spawn(io_.context(), read_to_the_end(connection_), asio::use_future).get();
  }

 private:
  awaitable<void> connect(Endpoint centre) {
    JobSocket socket = co_await connect_authenticated(centre, kCredentials, 20.0);
    is_encrypted_ = socket.is_encrypted();
    connection_ = std::make_shared<FrameConnection>(std::move(socket), SIZE_MAX);
  }

  IoThread io_;
  std::shared_ptr<FrameConnection> connection_;
  bool is_encrypted_ = false;
};

}  // namespace scavenger::ps
