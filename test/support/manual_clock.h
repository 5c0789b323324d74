// A clock that a test sets by hand.
#pragma once

#include <atomic>

#include "runtime/base/clock.h"

namespace scavenger {

class ManualClock final : public Clock {
 public:
  double now_seconds() const override { return seconds; }
  std::atomic<double> seconds = 1000.0;  // threads of what is tested may read it
};

}  // namespace scavenger
