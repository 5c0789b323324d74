#include "elastic/page/log_follower.h"

#include "runtime/base/clock.h"

namespace scavenger::elastic {

bool LogFollower::advance(std::chrono::milliseconds patience) {
  if (!reader_) {
    if (!std::filesystem::exists(log_)) return true;
    reader_ = std::make_unique<EventLogReader>(log_);
  }
  const SteadyClock clock;  // of this thread's work, which no simulation does
  const double deadline = clock.now_seconds() + std::chrono::duration<double>(patience).count();
  while (clock.now_seconds() < deadline) {
    const auto logged = reader_->next();
    if (!logged) return true;
    history_.apply(*logged);
  }
  return false;
}

}  // namespace scavenger::elastic
