// What the controller wants of a worker, as its compute thread sees it: passed on by the thread
// that reads the control connection.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "runtime/protocol/control_message.h"
#include "runtime/training/synchroniser.h"

namespace scavenger {

// Thread-safe. Bounded by the protocol: the controller has one request open at a time.
class WorkerCommands final {
 public:
  // A Train message raises the grant; everything else queues up. Halt takes the grant back, and
  // does not wait its turn: the synchroniser is interrupted at once, until the next
  // ConfigureWorker.
  void put(ControlMessage message);
  // The controller is gone or said nonsense: next() and wait() throw from now on.
  void fail(std::exception_ptr failure);
  // What to interrupt; it must outlive the last put() and fail(), or be taken back with null.
  void steer(Synchroniser* synchroniser);

  // Blocks until there is a message, which it returns, or `iteration` may be done, which is
  // nullopt.
  std::optional<ControlMessage> next(std::uint64_t iteration);
  // Whether `iteration` may be done now.
  bool granted(std::uint64_t iteration);
  // Whether what is under way is to be left: a Halt or Stop is in the queue, or the controller is
  // gone.
  bool interrupted();
  // Blocks for the next message.
  ControlMessage wait();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ControlMessage> messages_;
  std::uint64_t granted_ = 0;
  std::uint32_t interrupts_ = 0;  // messages in the queue that want the work left
  Synchroniser* synchroniser_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace scavenger
