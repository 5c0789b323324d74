// The controller's commands to a worker. The thread that reads the control connection puts them in;
// the compute thread takes them out.
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

// Thread-safe. The protocol limits its size, since the controller has one open request at a time.
class WorkerCommands final {
 public:
  // A Train message raises the grant; all other messages are queued. Halt also revokes the grant
  // and interrupts the synchroniser at once, until the next ConfigureWorker.
  void put(ControlMessage message);
  // Adds a piece of the state that the last ConfigureWorker announced. Any other piece is ignored.
  void put_state(StatePiece piece);
  // Makes next() and wait() throw `failure` from now on: the controller is gone, or sent an invalid
  // message.
  void fail(std::exception_ptr failure);
  // Sets the synchroniser that is interrupted. It must outlive the last put() and fail(), or be
  // reset to null.
  void steer(Synchroniser* synchroniser);

  // Blocks until there is a message, which it returns, or until `iteration` is granted; then
  // returns nothing.
  std::optional<ControlMessage> next(std::uint64_t iteration);
  // Returns whether `iteration` is granted.
  bool granted(std::uint64_t iteration);
  // Returns whether the current work must be aborted: a Halt or Stop is in the queue, or the
  // controller is gone.
  bool interrupted();
  // Blocks until the next message.
  ControlMessage wait();
  // Blocks until the next piece of state. Returns nothing if the work must be aborted.
  std::optional<StatePiece> wait_for_state();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ControlMessage> messages_;
  std::deque<StatePiece> state_;
  std::uint32_t state_epoch_ = 0;
  std::uint32_t missing_pieces_ = 0;  // announced, but not received yet
  std::uint64_t granted_ = 0;
  std::uint32_t interrupts_ = 0;  // messages in the queue that abort the work
  Synchroniser* synchroniser_ = nullptr;
  std::exception_ptr failure_;
};

}  // namespace scavenger
