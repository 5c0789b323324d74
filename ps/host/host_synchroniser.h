// A worker's part in a job over several hosts: where it shares its host with other workers, they
// meet in shared memory, and their host brings one gradient to the shards; where it is alone there,
// it brings its own.
//
// The first worker of a host is its uplink. It makes the segment, in a file of its own, which the
// others open through /proc: that works for processes of one user, and needs no name that could
// stay behind.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ps/core/ready_chunks.h"
#include "ps/host/host_uplink.h"
#include "ps/shm/segment.h"
#include "ps/tcp/tcp_synchroniser.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/training/synchroniser.h"

namespace scavenger::ps {

// The shards see one contributor for each host, in the order of their first workers: its batch is
// that of its workers. Without hosts, each worker is one.
scavenger::Membership contributors_of(const scavenger::Membership& membership,
                                      const std::vector<std::uint32_t>& hosts);

// Thread: as Synchroniser; sockets as TcpSynchroniser.
class HostSynchroniser final : public Synchroniser {
 public:
  HostSynchroniser(asio::io_context& io, const Clock& clock, ChunkLayout layout,
                   const JobCredentials& credentials, WireFormat format = {});
  ~HostSynchroniser() override;

  bool join(const SyncGroup& group, const InitialWeights& initial_weights) override;
  std::span<float> weights() override;
  std::span<float> gradients() override;
  void begin(std::uint64_t iteration) override;
  void gradient_ready(std::uint64_t first, std::uint64_t last) override;
  std::optional<SyncResult> finish() override;
  void interrupt() override;
  void allow() override;
  std::string problem() const override;

 private:
  bool join_as_uplink(const SyncGroup& group, const InitialWeights& initial_weights);
  bool join_beside(const SyncGroup& group, std::int64_t uplink_pid);
  std::unique_ptr<Segment> attach_to(const std::string& path);
  void leave();
  void use_segment(Segment* segment);
  SyncResult result() const;

  asio::io_context& io_;
  const Clock& clock_;
  const ChunkLayout layout_;
  const std::uint64_t chunk_bytes_;  // the layout's, which may be less than configured
  const JobCredentials credentials_;
  const WireFormat format_;
  TcpSynchroniser alone_;
  ReadyChunks ready_chunks_;
  std::atomic<bool> interrupted_{false};

  // interrupt() comes from another thread: what it looks at changes under this lock. Those are
  // connection_ and segment_.
  std::mutex mutex_;

  // As the uplink of a host, from the first time on.
  FileDescriptor own_file_;
  std::unique_ptr<Segment> own_segment_;
  std::unique_ptr<TcpSynchroniser> connection_;
  std::unique_ptr<HostUplink> uplink_;

  // Of the membership. No segment: alone.
  FileDescriptor foreign_file_;
  std::unique_ptr<Segment> foreign_segment_;
  Segment* segment_ = nullptr;
  std::vector<std::uint32_t> local_slots_;
  std::vector<std::uint32_t> local_batch_sizes_;
  std::uint32_t local_rank_ = 0;
  std::uint64_t iteration_ = 0;
};

}  // namespace scavenger::ps
