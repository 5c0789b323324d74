#include "runtime/net/frame_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace scavenger {
namespace {

constexpr double kLeastBytesPerSecond = 1e6;  // a slower peer counts as dead
constexpr std::size_t kFramesPerWrite = 32;   // Asio: a gather write takes at most 64 buffers
constexpr TransferAll kTransferAll{};         // g++ 12 destroys a temporary within co_await twice

}  // namespace

FrameConnection::FrameConnection(JobSocket socket, std::size_t queue_limit_bytes,
                                 double stall_seconds)
    : socket_(std::move(socket)),
      queue_limit_bytes_(queue_limit_bytes),
      progress_(socket_.get_executor()),
      stall_seconds_(stall_seconds),
      watch_(socket_.get_executor()) {
  progress_.expires_at(asio::steady_timer::time_point::max());
  gather_.reserve(2 * kFramesPerWrite);
}

void FrameConnection::post(FrameHeader header, std::span<const std::byte> payload) {
  enqueue(header, payload, {});
}

void FrameConnection::post_owned(FrameHeader header, std::vector<std::byte> payload) {
  enqueue(header, {}, std::move(payload));
}

void FrameConnection::enqueue(FrameHeader header, std::span<const std::byte> payload,
                              std::vector<std::byte> owned) {
  if (!socket_.is_open()) return;  // the reader gets the error
  if (!owned.empty()) payload = owned;
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  queued_bytes_ += kFrameHeaderBytes + payload.size();
  if (queued_bytes_ > queue_limit_bytes_) {
    close();
    throw ConnectionError(
        {.what = fmt::format("the peer does not read: {} wait for it", format_bytes(queued_bytes_)),
         .where = {},
         .remedy = {}});
  }
  queue_.push_back({encode(header), payload, std::move(owned)});
  if (writing_ == 0) write_queued();
}

void FrameConnection::write_queued() {
  gather_.clear();
  writing_ = std::min(queue_.size(), kFramesPerWrite);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < writing_; ++i) {
    bytes += kFrameHeaderBytes + queue_[i].payload.size();
    gather_.emplace_back(queue_[i].header.data(), kFrameHeaderBytes);
    if (!queue_[i].payload.empty())
      gather_.emplace_back(queue_[i].payload.data(), queue_[i].payload.size());
  }
  write_deadline_ = patience_for(bytes);
  watch();
  asio::async_write(socket_, gather_, kTransferAll,
                    [self = shared_from_this()](const boost::system::error_code& error,
                                                std::size_t) { self->written(error); });
}

void FrameConnection::written(const boost::system::error_code& error) {
  progress_.cancel();
  write_deadline_ = TimePoint::max();
  if (error) return close();
  for (; writing_ > 0; --writing_) {
    queued_bytes_ -= kFrameHeaderBytes + queue_.front().payload.size();
    queue_.pop_front();
  }
  if (!queue_.empty()) return write_queued();
  if (close_when_written_) close();
}

awaitable<FrameHeader> FrameConnection::receive_header(std::uint32_t payload_limit_bytes) {
  std::array<std::byte, kFrameHeaderBytes> bytes;
  const auto [error, count] = co_await asio::async_read(socket_, asio::buffer(bytes), kTransferAll,
                                                        asio::as_tuple(use_awaitable));
  if (error) fail(error);
  co_return decode_frame_header(bytes, payload_limit_bytes);
}

awaitable<void> FrameConnection::receive_payload(std::span<std::byte> destination) {
  const asio::mutable_buffer buffer(destination.data(), destination.size());
  read_deadline_ = patience_for(destination.size());
  watch();
  const auto [error, count] =
      co_await asio::async_read(socket_, buffer, kTransferAll, asio::as_tuple(use_awaitable));
  read_deadline_ = TimePoint::max();
  if (error) fail(error);
}

awaitable<void> FrameConnection::wait_until_queued_at_most(std::size_t bytes) {
  while (queued_bytes_ > bytes && socket_.is_open())
    co_await progress_.async_wait(asio::as_tuple(use_awaitable));
  if (!socket_.is_open()) fail(asio::error::not_connected);
}

// The deadline is on the clock of Asio's timers, since watch_ expires then.
FrameConnection::TimePoint FrameConnection::patience_for(std::size_t bytes) const {
  const double seconds = stall_seconds_ + static_cast<double>(bytes) / kLeastBytesPerSecond;
  return asio::steady_timer::clock_type::now() +
         std::chrono::duration_cast<asio::steady_timer::duration>(
             std::chrono::duration<double>(seconds));
}

void FrameConnection::watch() {
  const TimePoint deadline = std::min(write_deadline_, read_deadline_);
  if (watching_ || deadline == TimePoint::max()) return;
  watching_ = true;
  watch_.expires_at(deadline);
  watch_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self) return;
    self->watching_ = false;
    self->stalled_ = std::min(self->write_deadline_, self->read_deadline_) <=
                     asio::steady_timer::clock_type::now();
    self->stalled_ ? self->close() : self->watch();
  });
}

void FrameConnection::fail(const boost::system::error_code& error) const {
  throw ConnectionError({.what = stalled_ ? "the peer has stopped in the middle of a frame"
                                          : "the connection was lost: " + error.message(),
                         .where = {},
                         .remedy = {}});
}

void FrameConnection::close() {
  progress_.cancel();
  watch_.cancel();
  socket_.close();
  // The operation in flight still uses the frames that it writes; it ends with an error.
  queue_.resize(std::min(queue_.size(), writing_));
}

void FrameConnection::close_when_written() {
  if (queue_.empty()) return close();
  close_when_written_ = true;
}

}  // namespace scavenger
