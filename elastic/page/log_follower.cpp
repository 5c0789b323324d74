#include "elastic/page/log_follower.h"

namespace scavenger::elastic {

bool LogFollower::advance(std::chrono::milliseconds patience) {
  if (!reader_) {
    if (!std::filesystem::exists(log_)) return true;
    reader_ = std::make_unique<EventLogReader>(log_);
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto logged = reader_->next();
    if (!logged) return true;
    history_.apply(*logged);
  }
  return false;
}

}  // namespace scavenger::elastic
