// What the controller wants of a worker, as its compute thread sees it: passed on by the thread
// that reads the control connection.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/protocol/control_message.h"
#include "runtime/training/synchroniser.h"

namespace scavenger {

// One chunk of one vector of weights or optimizer state, from a checkpoint.
struct StatePiece {
  std::uint32_t membership_epoch = 0;
  std::uint32_t vector = 0;
  std::uint32_t chunk = 0;
  std::vector<std::byte> floats;
};

// Thread-safe. Bounded by the protocol: the controller has one request open at a time.
class WorkerCommands final {
 public:
  // A Train message raises the grant; everything else queues up. Halt takes the grant back, and
  // does not wait its turn: the synchroniser is interrupted at once, until the next
  // ConfigureWorker.
  void put(ControlMessage message);
  // A piece of the state that the last ConfigureWorker announced; any other changes nothing.
  void put_state(StatePiece piece);
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
  // Blocks for the next piece of state; nothing where the work is to be left.
  std::optional<StatePiece> wait_for_state();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ControlMessage> messages_;
  std::deque<StatePiece> state_;
  std::uint32_t state_epoch_ = 0;
  std::uint32_t missing_pieces_ = 0;  // announced, and not come
  std::uint64_t granted_ = 0;
  std::uint32_t interrupts_ = 0;  // messages in the queue that want the work left
  Synchroniser* synchroniser_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace scavenger
