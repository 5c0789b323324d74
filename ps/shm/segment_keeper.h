// The shard of a job whose workers share memory. It creates the segment, loads and copies its
// state, and prepares the board for each membership. The workers do everything else; training does
// not need the keeper between boundaries, and the segment outlives it.
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
  // `file`: the shared file that all processes of the job inherit. It may contain the segment of an
  // earlier keeper that has died.
  SegmentKeeper(asio::io_context& io, FileDescriptor file, const OptimizerConfig& optimizer,
                std::uint64_t chunk_bytes);

  std::uint16_t port() const override { return 0; }
  void configure(const ConfigureShard& message) override;
  std::vector<std::byte>& state_payload() override { return state_payload_; }
  bool load_state(const FrameHeader& header) override;
  // Returns the position of the workers, which must have been halted before.
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
  // The snapshot that is being copied. When it has been sent, the next one reuses its memory.
  std::shared_ptr<ShardSnapshot> snapshot_;
  std::uint32_t next_to_copy_ = 0;
};

}  // namespace scavenger::ps
