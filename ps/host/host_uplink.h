// The uplink of a host, in its first worker. It sums the gradients of all workers of the host in
// shared memory and sends the sum to the shards. The new weights arrive in the memory that all
// these workers read.
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

// The slot of the sum in a host's segment.
inline constexpr std::uint32_t kSumSlot = kMostWorkers - 1;

// Runs on a separate thread, from start() until it is interrupted or a connection is lost. Thread:
// start() and stop() on one; interrupt() and stopped() on any.
class HostUplink final {
 public:
  // Requires that the connection's gradients are the segment's slot kSumSlot, and its weights
  // version(0). Both must outlive the uplink.
  HostUplink(Segment& segment, TcpSynchroniser& connection);
  ~HostUplink();
  HostUplink(const HostUplink&) = delete;
  HostUplink& operator=(const HostUplink&) = delete;

  // Serves the workers in these slots with these batch sizes, from the board's iteration on.
  void start(std::vector<std::uint32_t> slots, std::vector<std::uint32_t> batch_sizes);
  // Interrupts the thread and waits for its end.
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
