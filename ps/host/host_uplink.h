// The first worker of a host sums the gradients of all workers there, in shared memory, and brings
// the sum to the shards; the new weights come back into the memory that all of them read.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "ps/core/reduction.h"
#include "ps/shm/segment.h"
#include "ps/tcp/tcp_synchroniser.h"

namespace scavenger::ps {

// In a segment that serves a host: where the sum is.
inline constexpr std::uint32_t kSumSlot = kMostWorkers - 1;

// Works on a thread of its own, from start() until it is interrupted or a connection is lost.
// Thread: start() and stop() on one; interrupt() and stopped() on any.
class HostUplink final {
 public:
  // The connection's gradients are the segment's kSumSlot, its weights version(0). Both must
  // outlive it.
  HostUplink(Segment& segment, TcpSynchroniser& connection);
  ~HostUplink();
  HostUplink(const HostUplink&) = delete;
  HostUplink& operator=(const HostUplink&) = delete;

  // Serves workers that bring these batch shares from these slots, from the board's iteration on.
  void start(std::vector<std::uint32_t> slots, std::vector<std::uint32_t> batch_sizes);
  // Interrupts it and waits for its end.
  void stop();
  void interrupt();
  bool stopped() const { return stopped_; }

 private:
  void serve();
  bool bring_iteration(std::uint64_t iteration);
  void sum(std::uint32_t chunk);

  Segment& segment_;
  TcpSynchroniser& connection_;
  ChunkReducer reducer_;
  std::vector<Contribution> gradients_;  // whole vectors, by local rank
  std::vector<Contribution> parts_;      // scratch
  std::thread thread_;
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> stopped_{true};
};

}  // namespace scavenger::ps
