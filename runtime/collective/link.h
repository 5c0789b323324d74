// The ports below a group of workers that add up vectors: what a library of collectives (Gloo,
// NCCL) has to do. GroupCollective decides when.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "runtime/collective/group_life.h"
#include "runtime/training/synchroniser.h"

namespace scavenger {

// Returns whether the caller is still waiting.
using StillWanted = std::function<bool()>;

// An operation that was begun. Thread: that of the worker.
class LinkWork {
 public:
  virtual ~LinkWork() = default;
  // Returns when the operation is complete. Throws a std::exception if it failed, or soon after it
  // is no longer wanted.
  virtual void wait(const StillWanted& wanted) = 0;
};

// A connection to all other workers of a group.
//
// Thread: operations on that of the worker, one at a time; check() and end() on any other at the
// same time. end() is called once; operations that are begun later throw.
class Link {
 public:
  virtual ~Link() = default;
  // Begin operations on these floats, in place. Throw a std::exception. `wanted` is for libraries
  // that establish connections only now.
  virtual std::unique_ptr<LinkWork> begin_sum(std::span<float> values,
                                              const StillWanted& wanted) = 0;
  virtual std::unique_ptr<LinkWork> begin_broadcast(std::span<float> values, std::uint32_t source,
                                                    const StillWanted& wanted) = 0;
  // Throws a std::exception if the connection is known to have failed.
  virtual void check() {}
  // Makes operations that wait return. When it has returned, and the object is destroyed, none
  // accesses memory any more.
  virtual void end(LinkEnd how) noexcept = 0;
};

// One attempt to connect a group, on a thread of its own.
class LinkAttempt {
 public:
  virtual ~LinkAttempt() = default;
  // Throws a std::exception if not all workers come within the library's limit, or soon after it is
  // abandoned.
  virtual std::shared_ptr<Link> connect() = 0;
  // Any thread, at any time, as often as one likes: makes connect() return as soon as possible.
  virtual void abandon() = 0;
};

class Connector {
 public:
  virtual ~Connector() = default;
  // `previous`: the connection of the last group, if it is intact and idle, with the number of
  // operations that it has completed. The attempt owns it: it is used again, or ended.
  virtual std::unique_ptr<LinkAttempt> prepare(const SyncGroup& group,
                                               std::shared_ptr<Link> previous,
                                               std::uint64_t completed) = 0;
  // Whether prepare() can use the connection of the last group again. If not, that is ended before.
  virtual bool reuses_links() const { return false; }
};

}  // namespace scavenger
