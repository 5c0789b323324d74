// Collective operations among the workers of a group, with any library (link.h). Connecting runs on
// a thread of its own, and so does a watchdog, which ends connections that failed, that were
// interrupted, or that are overdue: the worker's thread may be anywhere then, also in a call that
// returns only when the connection is aborted.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "runtime/base/clock.h"
#include "runtime/collective/link.h"
#include "runtime/training/collective.h"

namespace scavenger {

// Thread: as Collective. If a connection cannot be ended within its limit, leave() and join() throw
// ConnectionError, and the process must end, since its memory may still be accessed.
class GroupCollective final : public Collective {
 public:
  // The clock must outlive all threads: it is the process's.
  GroupCollective(std::unique_ptr<Connector> connector, const Clock& clock,
                  const GroupLimits& limits);
  ~GroupCollective() override;

  void join(const SyncGroup& group) override;
  void leave() override;
  void begin_sum(std::span<float> values) override;
  void finish_sum() override;
  void broadcast(std::span<float> values, std::uint32_t source) override;
  void interrupt() override;
  void allow() override;

 private:
  struct State;
  class Connecting;

  std::shared_ptr<Link> take_previous(const SyncGroup& group, std::uint64_t& completed);
  void connect(const SyncGroup& group, std::shared_ptr<Link> previous, std::uint64_t completed);
  template <typename Begin>
  std::unique_ptr<LinkWork> begin(const Begin& operation);
  void finish(LinkWork& work);
  StillWanted operates() const;
  [[noreturn]] void fail(const std::string& problem);

  const std::unique_ptr<Connector> connector_;
  const std::shared_ptr<State> state_;  // shared with the threads
  std::uint32_t size_ = 0;
  std::deque<std::unique_ptr<LinkWork>> sums_;
  std::list<std::unique_ptr<Connecting>> abandoned_;
  std::thread watchdog_;
};

}  // namespace scavenger
