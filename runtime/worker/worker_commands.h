// What the controller wants of a worker, as its compute thread sees it: passed on by the thread
// that reads the control connection.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "runtime/protocol/control_message.h"

namespace scavenger {

// Thread-safe. Bounded by the protocol: the controller has one request open at a time.
class WorkerCommands final {
 public:
  // A Train message raises the grant; everything else queues up.
  void put(ControlMessage message);
  // The controller is gone or said nonsense: next() and wait() throw from now on.
  void fail(std::exception_ptr failure);

  // Blocks until there is a message, which it returns, or `iteration` may be done, which is
  // nullopt.
  std::optional<ControlMessage> next(std::uint64_t iteration);
  // Whether `iteration` may be done now.
  bool granted(std::uint64_t iteration);
  // Blocks for the next message.
  ControlMessage wait();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ControlMessage> messages_;
  std::uint64_t granted_ = 0;
  std::exception_ptr failure_;
};

}  // namespace scavenger
