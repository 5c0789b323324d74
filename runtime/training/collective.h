// The port for what all workers of a group do together where no server stands between them: add up
// vectors, and hand them round. c10d implements it (runtime/torch).
#pragma once

#include <cstdint>
#include <span>

#include "runtime/training/synchroniser.h"

namespace scavenger {

// Spans may be memory of a device, where that is what the implementation is made for.
//
// Thread: one, but for interrupt() and allow(). What has to wait for others throws ConnectionError
// where one of them is lost, or it is interrupted; then only leave() and join() are of use.
class Collective {
 public:
  virtual ~Collective() = default;

  // Leaves the group before, and meets all others of this one.
  virtual void join(const SyncGroup& group) = 0;
  // When it returns, nothing that was begun touches its memory any more.
  virtual void leave() = 0;

  // Begins to add up the values of all workers, in place. All begin the same sums in the same
  // order.
  virtual void begin_sum(std::span<float> values) = 0;
  // Returns when the first sum that was begun, of those not finished, may be used.
  virtual void finish_sum() = 0;
  // All others get the values of `source`.
  virtual void broadcast(std::span<float> values, std::uint32_t source) = 0;

  // Any thread: as Synchroniser's.
  virtual void interrupt() = 0;
  virtual void allow() = 0;
};

}  // namespace scavenger
