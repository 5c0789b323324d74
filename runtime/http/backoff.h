// How long to wait before a request is tried again: longer each time, and not in step with others.
#pragma once

#include <algorithm>

#include "runtime/base/random.h"

namespace scavenger {

struct BackoffRule {
  double initial_seconds = 1.0;
  double factor = 2.0;
  double longest_seconds = 60.0;
};

// Thread: one at a time.
class Backoff final {
 public:
  explicit Backoff(const BackoffRule& rule) : rule_(rule), next_seconds_(rule.initial_seconds) {}

  // From half to the whole of a wait that grows by the factor with each call.
  double next_seconds(RandomStream& stream) {
    const double wait = next_seconds_ * (0.5 + 0.5 * stream.uniform());
    next_seconds_ = std::min(next_seconds_ * rule_.factor, rule_.longest_seconds);
    return wait;
  }
  // The next wait is the shortest again.
  void start_again() { next_seconds_ = rule_.initial_seconds; }

 private:
  BackoffRule rule_;
  double next_seconds_;
};

}  // namespace scavenger
