// The shard of a job whose workers share memory: it makes the segment, loads and copies its state,
// and lays out the board for each membership. The workers do the rest themselves; training goes on
// without it between boundaries, and what it keeps outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ps/shard/shard_service.h"
#include "ps/shard/state_frames.h"
#include "ps/shm/segment.h"
#include "runtime/config/job_config.h"
#include "runtime/net/asio.h"

namespace scavenger::ps {

class SegmentKeeper final : public ShardService {
 public:
  // `file`: as all processes of the job have inherited it; a keeper that died may have left a
  // segment there.
  SegmentKeeper(asio::io_context& io, FileDescriptor file, const OptimizerConfig& optimizer,
                std::uint64_t chunk_bytes);

  std::uint16_t port() const override { return 0; }
  void configure(const ConfigureShard& message) override;
  std::vector<std::byte>& state_payload() override { return state_payload_; }
  bool load_state(const FrameHeader& header) override;
  // Says where the workers stand: they are to be halted before.
  Halted halt() override;
  ShardProgress progress() const override;
  void begin_snapshot(std::uint64_t iteration) override;
  awaitable<void> send_snapshot(std::shared_ptr<FrameConnection> destination) override;

 private:
  bool copy_chunk();
  void finish_copying();
  void announce_weights();

  asio::io_context& io_;
  const FileDescriptor file_;
  const Optimizer optimizer_;
  const bool clips_;
  const std::uint64_t chunk_bytes_;
  std::unique_ptr<Segment> segment_;
  LoadedPieces pieces_;
  bool halted_ = false;
  std::vector<std::byte> state_payload_;
  // The one that is being copied; when it was sent, its memory is used again for the next.
  std::shared_ptr<ShardSnapshot> snapshot_;
  std::uint32_t next_to_copy_ = 0;
};

}  // namespace scavenger::ps
