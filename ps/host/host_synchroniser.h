// The synchroniser of a worker in a job over several hosts. If a host has several workers, they
// share memory and the host sends one gradient to the shards; a single worker on a host sends its
// own.
//
// The first worker of a host is its uplink. It creates the shared segment in an unnamed file, which
// the others open through /proc. This works for processes of one user, and needs no file name that
// could be left behind.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ps/core/ready_chunks.h"
#include "ps/host/host_uplink.h"
#include "ps/shm/segment.h"
#include "ps/tcp/tcp_synchroniser.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/training/synchroniser.h"

namespace scavenger::ps {

// Returns the membership as the shards see it: one contributor for each host, in the order of the
// hosts' first workers, whose share is the sum of its workers' shares. If `hosts` is empty, each
// worker is a contributor.
scavenger::Membership contributors_of(const scavenger::Membership& membership,
                                      const std::vector<std::uint32_t>& hosts);

// Returns the group as the shards see it.
SyncGroup contributing(const SyncGroup& group);

// Thread: as Synchroniser; for the sockets, as TcpSynchroniser. It has more than 20 fields, since
// it may be alone on its host, the uplink of others, or beside one, from one membership to the
// next.
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
  // Only a worker that is alone on its host tells.
  void tell_of_weights(const WeightsReady& ready) override { alone_.tell_of_weights(ready); }
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
  const std::uint64_t chunk_bytes_;  // of the layout; may be less than configured
  const JobCredentials credentials_;
  const WireFormat format_;
  TcpSynchroniser alone_;
  ReadyChunks ready_chunks_;
  std::atomic<bool> interrupted_{false};

  // Protects connection_ and segment_, which interrupt() accesses from another thread.
  std::mutex mutex_;

  // Set when this worker has first become the uplink of a host.
  FileDescriptor own_file_;
  std::unique_ptr<Segment> own_segment_;
  std::unique_ptr<TcpSynchroniser> connection_;
  std::unique_ptr<HostUplink> uplink_;

  // State of the membership. segment_ is null if the worker is alone on its host.
  FileDescriptor foreign_file_;
  std::unique_ptr<Segment> foreign_segment_;
  Segment* segment_ = nullptr;
  std::vector<std::uint32_t> local_slots_;
  std::vector<std::uint32_t> local_batch_sizes_;
  std::uint32_t local_rank_ = 0;
  std::uint64_t iteration_ = 0;
};

}  // namespace scavenger::ps
