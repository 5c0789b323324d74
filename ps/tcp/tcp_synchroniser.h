// The worker's side of the parameter server over TCP. It sends gradients to the shards chunk by
// chunk, as backward finishes them, and receives the new weights directly into the flat vector. A
// shard on the same host accesses the vectors directly.
#pragma once

#include <array>
#include <boost/asio/cancellation_signal.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ps/core/chunk_layout.h"
#include "ps/core/ready_chunks.h"
#include "ps/tcp/near_vectors.h"
#include "ps/tcp/wire_format.h"
#include "runtime/base/clock.h"
#include "runtime/net/authentication.h"
#include "runtime/net/frame_connection.h"
#include "runtime/training/synchroniser.h"

namespace scavenger::ps {

// Thread: as Synchroniser. The sockets belong to the io_context's thread, which must be another
// thread and must outlive this object. It has more than 25 methods and more than 20 fields: two
// threads share one iteration, with the fields of each apart, and a method for each kind of frame.
class TcpSynchroniser final : public Synchroniser {
 public:
  // Vectors that the caller owns, of the layout's flat size.
  struct Memory {
    std::span<float> weights, gradients;
    NearPlace place;  // the place of the vectors, for shards on this host
  };

  TcpSynchroniser(asio::io_context& io, const Clock& clock, ChunkLayout layout,
                  const JobCredentials& credentials, WireFormat format = {});
  TcpSynchroniser(asio::io_context& io, const Clock& clock, ChunkLayout layout,
                  const JobCredentials& credentials, const Memory& memory, WireFormat format = {});
  ~TcpSynchroniser() override;

  // Connects to all shards again.
  bool join(const SyncGroup& group, const InitialWeights& initial_weights) override;
  std::span<float> weights() override { return weights_; }
  std::span<float> gradients() override { return gradients_; }
  bool keeps_memory() const override { return true; }
  void begin(std::uint64_t iteration) override;
  void gradient_ready(std::uint64_t first, std::uint64_t last) override;
  std::optional<SyncResult> finish() override;
  void tell_of_weights(const WeightsReady& ready) override;
  void interrupt() override;
  void allow() override;
  std::string problem() const override;

 private:
  using Connections = std::vector<std::shared_ptr<FrameConnection>>;

  void leave();
  TcpSynchroniser(asio::io_context& io, const Clock& clock, ChunkLayout layout,
                  const JobCredentials& credentials, WireFormat format,
                  std::unique_ptr<NearVectors> owned);
  std::future<void> start_connecting(const SyncGroup& group);
  bool is_interrupted() const;
  awaitable<void> connect_all(SyncGroup group);
  void post_initial_weights(FrameConnection& connection, std::uint32_t shard);
  void post_pull(FrameConnection& connection, std::uint32_t shard);
  awaitable<void> read_weights(std::shared_ptr<FrameConnection> connection, std::uint32_t shard);
  void send_gradient(std::uint32_t chunk, std::uint64_t iteration);
  std::span<const std::byte> wire_gradient(std::uint32_t chunk);
  void expect_weights(std::uint64_t iteration);
  bool wait_for_weights(const WeightsReady& ready);
  awaitable<void> receive_weights(FrameConnection& connection, std::span<float> weights,
                                  std::vector<Bfloat16>& room);
  awaitable<void> take_norms(FrameConnection& connection, FrameHeader header, std::uint32_t shard);
  void check_norms_frame(const FrameHeader& header, std::uint32_t shard) const;
  void post_clip(std::uint64_t iteration);
  void check_weights_frame(const FrameHeader& header, std::uint32_t shard);
  void fail(std::exception_ptr failure);

  asio::io_context& io_;
  const Clock& clock_;
  const ChunkLayout layout_;
  const JobCredentials credentials_;
  const WireFormat format_;
  std::unique_ptr<NearVectors> owned_;  // null if the caller owns the vectors
  const std::span<float> weights_, gradients_;
  const std::array<std::byte, kNearPlaceBytes> place_;  // as sent in kPull frames
  std::uint32_t rank_ = 0;
  std::uint32_t membership_epoch_ = 0;

  // Used by the compute thread.
  std::uint64_t iteration_ = 0;  // the current one
  ReadyChunks ready_chunks_;

  // Used by the io thread.
  Connections connections_;                  // by shard
  std::vector<std::uint8_t> is_near_;        // by shard
  std::vector<Bfloat16> rounded_gradients_;  // as sent; used if gradients are rounded
  asio::cancellation_signal stop_connecting_;
  std::vector<double> summed_sqr_norms_;  // by chunk; used if gradients are clipped
  std::uint64_t norms_iteration_ = 0;     // the iteration of these norms
  std::uint32_t norms_arrived_ = 0;       // number of shards whose norms have arrived

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // State below is protected by mutex_.
  std::uint64_t awaited_iteration_ = 0;  // the iteration that kWeights frames must have
  std::uint32_t awaited_chunks_ = 0;
  std::vector<std::uint8_t> arrived_;    // by chunk
  WeightsReady weights_ready_;           // may be empty
  std::vector<std::uint32_t> fresh_;     // arrived chunks that were not told of; else unused
  std::vector<double> local_sqr_norms_;  // by chunk
  std::vector<double> global_sqr_norms_;
  std::uint32_t readers_ = 0;  // running readers; a reader ends only by fail()
  bool interrupted_ = false;
  std::exception_ptr failure_;
};

}  // namespace scavenger::ps
