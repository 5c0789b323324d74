// An authenticated connection between two processes of a job that carries frames (frame.h).
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

// Seconds without progress after which a peer counts as dead.
inline constexpr double kStallSeconds = 30.0;

// Sends and receives frames. One coroutine reads; any number may post.
//
// Thread: all calls on the socket's executor, which is one thread.
// Errors: a failed write closes the connection; the reader then gets ConnectionError. The same
// happens if the peer makes no progress, neither accepting written bytes nor completing a frame
// that it has begun, for `stall_seconds` plus one second per megabyte. A peer may be silent between
// two frames: a caller that expects a frame sets its own limit.
class FrameConnection final : public std::enable_shared_from_this<FrameConnection> {
 public:
  // `queue_limit_bytes`: how much may wait to be written before post() fails, which limits the
  // memory that a slow or dead peer costs.
  FrameConnection(JobSocket socket, std::size_t queue_limit_bytes,
                  double stall_seconds = kStallSeconds);

  // Queues a frame whose payload stays the caller's and is not copied. The payload must not change
  // until it has been written, which is known when the peer answers. Sets header.payload_bytes.
  void post(FrameHeader header, std::span<const std::byte> payload);
  // Queues a frame together with its payload.
  void post_owned(FrameHeader header, std::vector<std::byte> payload);

  // Returns the header of the next frame. Its payload must be read next, by one call of
  // receive_payload() with a destination of exactly header.payload_bytes.
  awaitable<FrameHeader> receive_header(std::uint32_t payload_limit_bytes);
  awaitable<void> receive_payload(std::span<std::byte> destination);

  // Waits until at most `bytes` are queued, so that a long stream does not fill the memory. At most
  // one caller may wait at a time. Throws ConnectionError if the connection is lost.
  awaitable<void> wait_until_queued_at_most(std::size_t bytes);

  // Closes both directions at once and drops the queued frames.
  void close();
  // Closes as soon as all queued frames have been written.
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
  std::size_t writing_ = 0;  // how many frames at the front of the queue are being written
  bool close_when_written_ = false;
  std::vector<asio::const_buffer> gather_;
  asio::steady_timer progress_;  // never expires; cancelled when something was written

  // The deadlines of the pending write and read. One timer checks both; it is set once in a while
  // instead of for each frame.
  const double stall_seconds_;
  TimePoint write_deadline_ = TimePoint::max();
  TimePoint read_deadline_ = TimePoint::max();
  asio::steady_timer watch_;
  bool watching_ = false;
  bool stalled_ = false;
};

}  // namespace scavenger
