#include "runtime/base/clock.h"

#include <chrono>
#include <ctime>

namespace scavenger {

double SteadyClock::now_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string utc_timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm broken_down{};
  gmtime_r(&now, &broken_down);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &broken_down);
  return text;
}

}  // namespace scavenger
