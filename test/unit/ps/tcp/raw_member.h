// A member of a job that keeps to the protocol only where the test wants it to.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "test/unit/ps/tcp/tcp_job.h"

namespace scavenger::ps {

inline awaitable<std::shared_ptr<FrameConnection>> connect(std::uint16_t port, JobCredentials job) {
  const Endpoint endpoint{"127.0.0.1", port};
  JobSocket socket = co_await connect_authenticated(endpoint, job, 20.0);
  co_return std::make_shared<FrameConnection>(std::move(socket), SIZE_MAX);
}

using Answers = std::vector<FrameHeader>;

inline awaitable<std::pair<FrameHeader, std::vector<std::byte>>> read_frame(
    std::shared_ptr<FrameConnection> connection) {
  const FrameHeader header = co_await connection->receive_header(1u << 20);
  std::vector<std::byte> payload(header.payload_bytes);
  co_await connection->receive_payload(payload);
  co_return std::pair(header, std::move(payload));
}

// What the shard sends: `count` frames, or fewer where it ends the connection before.
inline awaitable<Answers> read_answers(std::shared_ptr<FrameConnection> connection,
                                       std::size_t count) {
  Answers answers;
  try {
    while (answers.size() < count) {
      const auto frame = co_await read_frame(connection);
      answers.push_back(frame.first);
    }
  } catch (const ConnectionError&) {
  }
  co_return answers;
}

// A member of the job that says what a test wants.
class RawMember final {
 public:
  RawMember(TcpJob& job, const JobCredentials& credentials) : layout_(job.layout()) {
    connection_ =
        asio::co_spawn(io_.context(), connect(job.shard(0).port(), credentials), asio::use_future)
            .get();
  }
  explicit RawMember(TcpJob& job) : RawMember(job, job.credentials()) {}
  ~RawMember() {
    asio::post(io_.context(), asio::use_future([this] { connection_->close(); })).get();
  }

  void say(const FrameHeader& header, std::size_t payload_bytes = 0) {
    asio::post(io_.context(), asio::use_future([&] {
                 connection_->post_owned(header, std::vector<std::byte>(payload_bytes));
               }))
        .get();
  }
  void say(const FrameHeader& header, std::span<const std::byte> payload) {
    asio::post(io_.context(), asio::use_future([&] {
                 connection_->post_owned(header, {payload.begin(), payload.end()});
               }))
        .get();
  }
  void pull_near(std::uint32_t rank, const NearPlace& place) {
    say({.type = FrameType::kPull, .membership_epoch = 1, .rank = rank}, encode(place));
  }
  void pull(std::uint32_t rank, std::uint32_t epoch = 1) {
    say({.type = FrameType::kPull, .membership_epoch = epoch, .rank = rank});
  }
  void bring_zeros(FrameType type, std::uint32_t chunk, std::uint64_t iteration,
                   std::uint32_t rank) {
    say({.type = type, .membership_epoch = 1, .chunk = chunk, .iteration = iteration, .rank = rank},
        layout_.range(chunk).size * sizeof(float));
  }
  // Pulls, and takes the weights.
  void join(std::uint32_t rank) {
    pull(rank);
    CHECK(answers(layout_.chunk_count()).size() == layout_.chunk_count());
  }
  // All of them come when the shard has ended the connection, and so has judged all that was said.
  Answers answers(std::size_t count = SIZE_MAX) {
    return asio::co_spawn(io_.context(), read_answers(connection_, count), asio::use_future).get();
  }
  std::pair<FrameHeader, std::vector<std::byte>> next_frame() {
    return asio::co_spawn(io_.context(), read_frame(connection_), asio::use_future).get();
  }
  void be_sent_away() {
    say({.type = FrameType::kState});
    CHECK(answers().empty());
  }

 private:
  ChunkLayout layout_;
  IoThread io_;
  std::shared_ptr<FrameConnection> connection_;
};

}  // namespace scavenger::ps
