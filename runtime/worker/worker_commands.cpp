#include "runtime/worker/worker_commands.h"

#include <algorithm>
#include <utility>

namespace scavenger {

void WorkerCommands::put(ControlMessage message) {
  const std::lock_guard lock(mutex_);
  if (const auto* train = std::get_if<Train>(&message))
    granted_ = std::max(granted_, train->until_iteration);
  else
    messages_.push_back(std::move(message));
  changed_.notify_one();
}

void WorkerCommands::fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  changed_.notify_one();
}

std::optional<ControlMessage> WorkerCommands::next(std::uint64_t iteration) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || !messages_.empty() || granted_ > iteration; });
  if (failure_) std::rethrow_exception(failure_);
  if (messages_.empty()) return std::nullopt;
  ControlMessage message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

bool WorkerCommands::granted(std::uint64_t iteration) {
  const std::lock_guard lock(mutex_);
  return granted_ > iteration;
}

ControlMessage WorkerCommands::wait() {
  return *next(UINT64_MAX);
}

}  // namespace scavenger
