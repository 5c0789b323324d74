#include "runtime/worker/worker_commands.h"

#include <algorithm>
#include <utility>

namespace scavenger {
namespace {

bool interrupts(const ControlMessage& message) {
  return std::holds_alternative<Halt>(message) || std::holds_alternative<Stop>(message);
}

}  // namespace

void WorkerCommands::put(ControlMessage message) {
  const std::lock_guard lock(mutex_);
  changed_.notify_one();
  if (const auto* train = std::get_if<Train>(&message)) {
    granted_ = std::max(granted_, train->until_iteration);
    return;
  }
  if (interrupts(message)) {
    if (std::holds_alternative<Halt>(message)) granted_ = 0;
    ++interrupts_;
    missing_pieces_ = 0;
    state_.clear();
    if (synchroniser_ != nullptr) synchroniser_->interrupt();
  }
  // The controller configures a worker only after it has answered the last Halt, so no interrupted
  // call still runs.
  if (const auto* configure = std::get_if<ConfigureWorker>(&message)) {
    if (synchroniser_ != nullptr) synchroniser_->allow();
    state_epoch_ = configure->group.membership.epoch;
    missing_pieces_ = configure->state_pieces;
  }
  messages_.push_back(std::move(message));
}

void WorkerCommands::put_state(StatePiece piece) {
  const std::lock_guard lock(mutex_);
  if (piece.membership_epoch != state_epoch_ || missing_pieces_ == 0) return;
  --missing_pieces_;
  state_.push_back(std::move(piece));
  changed_.notify_one();
}

void WorkerCommands::fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  if (synchroniser_ != nullptr) synchroniser_->interrupt();
  changed_.notify_one();
}

void WorkerCommands::steer(Synchroniser* synchroniser) {
  const std::lock_guard lock(mutex_);
  synchroniser_ = synchroniser;
  if (synchroniser_ != nullptr && (interrupts_ > 0 || failure_)) synchroniser_->interrupt();
}

std::optional<ControlMessage> WorkerCommands::next(std::uint64_t iteration) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || !messages_.empty() || granted_ > iteration; });
  if (failure_) std::rethrow_exception(failure_);
  if (messages_.empty()) return std::nullopt;
  ControlMessage message = std::move(messages_.front());
  messages_.pop_front();
  if (interrupts(message)) --interrupts_;
  return message;
}

bool WorkerCommands::granted(std::uint64_t iteration) {
  const std::lock_guard lock(mutex_);
  return granted_ > iteration;
}

bool WorkerCommands::interrupted() {
  const std::lock_guard lock(mutex_);
  return interrupts_ > 0 || failure_;
}

ControlMessage WorkerCommands::wait() {
  return *next(UINT64_MAX);
}

std::optional<StatePiece> WorkerCommands::wait_for_state() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failure_ || interrupts_ > 0 || !state_.empty(); });
  if (failure_ || interrupts_ > 0) return std::nullopt;
  StatePiece piece = std::move(state_.front());
  state_.pop_front();
  return piece;
}

}  // namespace scavenger
