#include "elastic/events/log_budget.h"

#include <algorithm>

namespace scavenger::elastic {

LogBudget::LogBudget(double time, double bytes)
    : time_(time),
      available_(std::clamp(kBurstBytes + kBytesPerSecond * time - bytes, 0.0, kBurstBytes)) {}

double LogBudget::available(double time) const {
  return std::min(kBurstBytes, available_ + kBytesPerSecond * std::max(0.0, time - time_));
}

void LogBudget::spend(double bytes, double time) {
  available_ = available(time) - bytes;
  time_ = std::max(time_, time);
}

}  // namespace scavenger::elastic
