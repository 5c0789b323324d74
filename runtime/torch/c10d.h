// All-reduce by LibTorch's c10d: Gloo among CPUs, NCCL among GPUs. Brings in no LibTorch. What is
// missing in the build (runtime/config/build_features.h) throws InputError.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/config/job_config.h"
#include "runtime/training/collective.h"

namespace scavenger {

// Where the workers of a group find each other before they are connected: a key-value store
// (c10d's TCPStore) that each worker serves for whole of its life, so that any of them can be the
// one that all others go to.
//
// Thread: construction and destruction; it serves on a thread of its own.
class MeetingPlace {
 public:
  virtual ~MeetingPlace() = default;
  virtual std::uint16_t port() const = 0;
};

// Listens at this address of the machine only, on a free port. Throws SystemError.
std::unique_ptr<MeetingPlace> open_meeting_place(const std::string& address);

struct C10dOptions {
  SyncStrategy backend = SyncStrategy::kGloo;
  std::string address;  // numeric: of this worker, for the others
  // Before each key in the store, so that only who knows it finds anything there.
  std::string key_prefix;
  double connect_seconds = 20.0;
  double operation_seconds = 600.0;  // the longest that others may be waited for
  int gpu = 0;                       // NCCL's
};

std::unique_ptr<Collective> make_c10d_collective(const C10dOptions& options);

}  // namespace scavenger
