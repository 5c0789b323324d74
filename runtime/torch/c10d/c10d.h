// All-reduce by Gloo among CPUs, which LibTorch's c10d brings, and by NCCL among GPUs, whose calls
// we make ourselves: c10d's can neither be polled nor aborted while a group connects. This header
// does not include LibTorch. Throws InputError if the build lacks the backend
// (runtime/config/build_features.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/collective/nccl_calls.h"
#include "runtime/config/job_config.h"
#include "runtime/training/collective.h"

namespace scavenger {

// A key-value store (c10d's TCPStore) through which the workers of a group find each other before
// they are connected. Each worker serves one during its whole life, so that any worker's store can
// be the one that all use.
//
// Thread: construct and destroy it on one thread; it serves on a separate thread.
class MeetingPlace {
 public:
  virtual ~MeetingPlace() = default;
  virtual std::uint16_t port() const = 0;
};

// Listens only at this address of the machine, on a free port. Throws SystemError.
std::unique_ptr<MeetingPlace> open_meeting_place(const std::string& address);

struct C10dOptions {
  SyncStrategy backend = SyncStrategy::kGloo;
  std::string address;  // numeric address of this worker, for the others
  // Precedes each key in the store, so that only processes that know it can find entries.
  std::string key_prefix;
  double connect_seconds = 20.0;
  double operation_seconds = 600.0;  // the longest wait for other workers
  int gpu = 0;                       // index of the GPU, for NCCL
};

std::unique_ptr<Collective> make_c10d_collective(const C10dOptions& options);

// NCCL on this GPU.
std::shared_ptr<NcclCalls> make_nccl_calls(int gpu);

}  // namespace scavenger
