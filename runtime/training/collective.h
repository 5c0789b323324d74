// The port for collective operations among the workers of a group, without a server: sums of
// vectors, and broadcasts. c10d implements it (runtime/torch).
#pragma once

#include <cstdint>
#include <span>

#include "runtime/training/synchroniser.h"

namespace scavenger {

// Spans may be memory of a device if the implementation supports it.
//
// Thread: one, except for interrupt() and allow(). Functions that wait for other workers throw
// ConnectionError if one of them is lost, or if they are interrupted; after that, only leave() and
// join() may be called.
class Collective {
 public:
  virtual ~Collective() = default;

  // Leaves the previous group, and waits for all other workers of this one.
  virtual void join(const SyncGroup& group) = 0;
  // After it returns, no operation accesses the memory of a span any more.
  virtual void leave() = 0;

  // Starts to add up the values of all workers, in place. Requires that all workers start the same
  // sums in the same order.
  virtual void begin_sum(std::span<float> values) = 0;
  // Returns when the oldest unfinished sum is complete.
  virtual void finish_sum() = 0;
  // Copies the values of rank `source` to all others.
  virtual void broadcast(std::span<float> values, std::uint32_t source) = 0;

  // Any thread; as for Synchroniser.
  virtual void interrupt() = 0;
  virtual void allow() = 0;
};

}  // namespace scavenger
