#include "runtime/net/frame_connection.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>

#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "test/unit/runtime/net/loopback.h"

using namespace scavenger;

namespace {

using Connection = std::shared_ptr<FrameConnection>;
using Frames = std::vector<std::pair<FrameHeader, std::vector<std::byte>>>;

struct ConnectedPair {
  explicit ConnectedPair(std::size_t queue_limit_bytes = SIZE_MAX) {
    SocketPair sockets(io);
    first = std::make_shared<FrameConnection>(std::move(sockets.first), queue_limit_bytes);
    second = std::make_shared<FrameConnection>(std::move(sockets.second), queue_limit_bytes);
  }
  asio::io_context io;
  Connection first;
  Connection second;
};

awaitable<void> read_frames(Connection connection, std::size_t count, Frames& frames) {
  while (frames.size() < count) {
    const FrameHeader header = co_await connection->receive_header(1u << 30);
    std::vector<std::byte> payload(header.payload_bytes);
    co_await connection->receive_payload(payload);
    frames.emplace_back(header, std::move(payload));
  }
}

// Until the connection is lost.
awaitable<void> read_to_the_end(Connection connection, Frames& frames) {
  try {
    co_await read_frames(connection, SIZE_MAX, frames);
  } catch (const ConnectionError&) {
  }
}

awaitable<void> stream(Connection connection, int frames, std::span<const std::byte> payload,
                       std::size_t queued_at_most) {
  for (int i = 0; i < frames; ++i) {
    const FrameHeader header{.iteration = static_cast<std::uint64_t>(i)};
    connection->post(header, payload);
    co_await connection->wait_until_queued_at_most(queued_at_most);
  }
}

awaitable<void> expect_header(Connection connection, std::uint32_t payload_limit_bytes) {
  co_await connection->receive_header(payload_limit_bytes);
}

std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
  RandomStream random(seed, "payload");
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits());
  return bytes;
}

}  // namespace

TEST_CASE("frames arrive whole and in order, borrowed payloads and owned ones") {
  ConnectedPair pair;
  RandomStream random(1, "sizes");
  std::vector<std::vector<std::byte>> payloads;
  for (std::size_t i = 0; i < 200; ++i)
    payloads.push_back(random_bytes(i % 7 == 0 ? 0 : random.below(20000), i));

  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const FrameHeader header{.type = FrameType::kGradient, .iteration = i};
    if (i % 2 == 0)
      pair.first->post(header, payloads[i]);
    else
      pair.first->post_owned(header, payloads[i]);
  }
  Frames frames;
  run_all(pair.io, read_frames(pair.second, payloads.size(), frames));

  for (std::size_t i = 0; i < payloads.size(); ++i) {
    CHECK(frames[i].first.iteration == i);
    CHECK(frames[i].first.payload_bytes == payloads[i].size());
    REQUIRE(frames[i].second == payloads[i]);
  }
}

TEST_CASE("both sides may send and receive at once") {
  ConnectedPair pair;
  const auto payload = random_bytes(1 << 20, 1);
  Frames at_first, at_second;

  run_all(pair.io, stream(pair.first, 20, payload, SIZE_MAX),
          stream(pair.second, 20, payload, SIZE_MAX), read_frames(pair.first, 20, at_first),
          read_frames(pair.second, 20, at_second));

  CHECK(at_first.back().second == payload);
  CHECK(at_second.back().second == payload);
}

TEST_CASE("a peer that does not read costs no more than the limit") {
  ConnectedPair pair(1 << 20);
  const std::vector<std::byte> payload(100 << 10);

  int posted = 0;
  const auto post_without_end = [&] {
    for (;; ++posted) pair.first->post({}, payload);
  };

  CHECK_THROWS_WITH(post_without_end(), Catch::Contains("does not read"));
  CHECK(posted == 10);
  CHECK_FALSE(pair.first->is_open());
  CHECK_NOTHROW(pair.first->post({}, payload));  // the reader learns of the end, not each poster
}

TEST_CASE("a stream that waits for its turn stays within the limit") {
  ConnectedPair pair(3 << 20);
  const auto payload = random_bytes(1 << 20, 1);
  Frames frames;

  run_all(pair.io, stream(pair.first, 40, payload, 1 << 20), read_frames(pair.second, 40, frames));

  CHECK(frames.back().first.iteration == 39);
}

TEST_CASE("who waits for a queue learns that the peer is gone") {
  ConnectedPair pair;
  const std::vector<std::byte> payload(16 << 20);  // more than the sockets hold
  asio::steady_timer leave(pair.io, std::chrono::milliseconds(20));
  leave.async_wait([&pair](const boost::system::error_code&) { pair.second->close(); });

  CHECK_THROWS_AS(run_all(pair.io, stream(pair.first, 2, payload, 0)), ConnectionError);
  CHECK_FALSE(pair.first->is_open());
}

TEST_CASE("a connection closed in the middle of a write ends for both, without a whole frame") {
  ConnectedPair pair;
  auto payload = std::make_unique<std::vector<std::byte>>(16 << 20);
  pair.first->post({}, *payload);
  pair.first->post({}, *payload);
  for (int i = 0; i < 3; ++i) pair.io.poll();

  pair.first->close();
  pair.io.poll();
  payload.reset();  // nobody may read it any more
  Frames frames;
  run_all(pair.io, read_to_the_end(pair.second, frames));

  CHECK(frames.empty());
}

TEST_CASE("a connection can be closed and dropped while it reads and writes") {
  ConnectedPair pair;
  const std::vector<std::byte> payload(16 << 20);
  Frames frames;
  pair.first->post({}, payload);
  asio::steady_timer leave(pair.io, std::chrono::milliseconds(5));
  leave.async_wait([&pair](const boost::system::error_code&) {
    pair.first->close();
    pair.first.reset();
  });

  run_all(pair.io, read_to_the_end(pair.first, frames));

  CHECK(frames.empty());
}

TEST_CASE("closing when all is written loses nothing of it") {
  ConnectedPair pair;
  const auto payload = random_bytes(4 << 20, 1);
  for (int i = 0; i < 3; ++i) pair.first->post({}, payload);

  pair.first->close_when_written();
  Frames frames;
  run_all(pair.io, read_to_the_end(pair.second, frames));

  REQUIRE(frames.size() == 3);
  CHECK(frames.back().second == payload);
  CHECK_FALSE(pair.first->is_open());
}

TEST_CASE("a frame longer than the reader takes is refused before its payload") {
  ConnectedPair pair;
  const std::vector<std::byte> payload(1000);
  pair.first->post({}, payload);

  CHECK_THROWS_AS(run_all(pair.io, expect_header(pair.second, 999)), ProtocolError);
}

TEST_CASE("a peer that leaves in the middle of a frame is a lost connection") {
  asio::io_context io;
  SocketPair sockets(io);
  auto reader = std::make_shared<FrameConnection>(std::move(sockets.second), SIZE_MAX);
  const auto header = encode(FrameHeader{.payload_bytes = 100});
  asio::write(sockets.first, asio::buffer(header.data(), 20));
  sockets.first.close();

  CHECK_THROWS_AS(run_all(io, expect_header(reader, 1000)), ConnectionError);
}

TEST_CASE("a peer that stops in the middle of a frame is given up") {
  asio::io_context io;
  SocketPair sockets(io);
  auto reader = std::make_shared<FrameConnection>(std::move(sockets.second), SIZE_MAX, 0.05);
  asio::write(sockets.first, asio::buffer(encode(FrameHeader{.payload_bytes = 100})));
  Frames frames;

  CHECK_THROWS_WITH(run_all(io, read_frames(reader, 1, frames)),
                    Catch::Contains("stopped in the middle of a frame"));
}

TEST_CASE("a peer that takes nothing is given up, and who waits for the queue learns of it") {
  asio::io_context io;
  SocketPair sockets(io);
  auto writer = std::make_shared<FrameConnection>(std::move(sockets.first), SIZE_MAX, 0.05);
  const std::vector<std::byte> payload(16 << 20);

  CHECK_THROWS_WITH(run_all(io, stream(writer, 2, payload, 0)),
                    Catch::Contains("stopped in the middle of a frame"));
}

TEST_CASE("a peer that has nothing to say may be silent for long") {
  asio::io_context io;
  SocketPair sockets(io);
  auto reader = std::make_shared<FrameConnection>(std::move(sockets.first), SIZE_MAX, 0.02);
  auto writer = std::make_shared<FrameConnection>(std::move(sockets.second), SIZE_MAX, 0.02);
  const auto payload = random_bytes(1000, 1);
  asio::steady_timer later(io, std::chrono::milliseconds(200));
  writer->post({}, payload);
  later.async_wait([&](const boost::system::error_code&) { writer->post({}, payload); });
  Frames frames;

  run_all(io, read_frames(reader, 2, frames));

  CHECK(frames.size() == 2);
}
