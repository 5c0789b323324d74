// A clock that a test sets by hand.
#pragma once

#include "runtime/base/clock.h"

namespace scavenger::elastic {

class ManualClock final : public Clock {
 public:
  double now_seconds() const override { return seconds; }
  double seconds = 1000.0;
};

}  // namespace scavenger::elastic
