// An authenticated connection that carries frames: one reader, any number of posters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/net/asio.h"
#include "runtime/net/frame.h"
#include "runtime/net/job_socket.h"

namespace scavenger {

// Thread: all calls on the socket's executor, which is one thread.
// Errors: a failed write closes the connection; the reader then gets ConnectionError. So does a
// peer that neither takes what is written nor sends the rest of a frame that it has begun, for
// `stall_seconds` and a second for each megabyte. (A peer that has nothing to say may be silent;
// whoever expects news from it sets a limit of its own.)
inline constexpr double kStallSeconds = 30.0;

class FrameConnection final : public std::enable_shared_from_this<FrameConnection> {
 public:
  // `queue_limit_bytes`: how much may wait to be written before post() fails; a slow or dead peer
  // costs no more.
  FrameConnection(JobSocket socket, std::size_t queue_limit_bytes,
                  double stall_seconds = kStallSeconds);

  // Queues a frame whose payload stays the caller's: it must not change before it was written,
  // which the peer's answer proves. Sets header.payload_bytes.
  void post(FrameHeader header, std::span<const std::byte> payload);
  // Queues a frame with a payload of its own.
  void post_owned(FrameHeader header, std::vector<std::byte> payload);

  // The next frame's header; its payload must be read next, by receive_payload() with exactly its
  // size.
  awaitable<FrameHeader> receive_header(std::uint32_t payload_limit_bytes);
  awaitable<void> receive_payload(std::span<std::byte> destination);

  // Waits until at most `bytes` wait to be written, so that a long stream does not pile up here.
  // At most one waiter at a time. Throws ConnectionError where the connection is lost.
  awaitable<void> wait_until_queued_at_most(std::size_t bytes);

  // Ends both directions at once; what is queued is dropped.
  void close();
  // Closes as soon as all that is queued has been written.
  void close_when_written();
  bool is_open() const { return socket_.is_open(); }

 private:
  using TimePoint = asio::steady_timer::time_point;

  struct Outgoing {
    std::array<std::byte, kFrameHeaderBytes> header;
    std::span<const std::byte> payload;
    std::vector<std::byte> owned;
  };

  void enqueue(FrameHeader header, std::span<const std::byte> payload,
               std::vector<std::byte> owned);
  void write_queued();
  void written(const boost::system::error_code& error);
  TimePoint patience_for(std::size_t bytes) const;
  void watch();
  [[noreturn]] void fail(const boost::system::error_code& error) const;

  JobSocket socket_;
  const std::size_t queue_limit_bytes_;
  std::deque<Outgoing> queue_;
  std::size_t queued_bytes_ = 0;
  std::size_t writing_ = 0;  // frames at the queue's front that are being written
  bool close_when_written_ = false;
  std::vector<asio::const_buffer> gather_;
  asio::steady_timer progress_;  // never expires; cancelled when something was written

  // When the write and the read that are under way have to be done. One timer looks after both, and
  // is set once in a while, not for each frame.
  const double stall_seconds_;
  TimePoint write_deadline_ = TimePoint::max();
  TimePoint read_deadline_ = TimePoint::max();
  asio::steady_timer watch_;
  bool watching_ = false;
  bool stalled_ = false;
};

}  // namespace scavenger
