#include "noise/stability.h"

#include <cmath>

#include "runtime/base/check.h"

namespace scavenger::noise {

StabilityDetector::StabilityDetector(StabilityOptions options) : options_(options) {
  SCAVENGER_CHECK(options.window_iterations > 0 && options.tolerance > 0.0);
}

void StabilityDetector::add(double numerator, double denominator, std::uint32_t iterations) {
  state_.numerator += numerator;
  state_.denominator += denominator;
  state_.iterations += iterations;
  state_.in_window += iterations;
  if (state_.in_window >= options_.window_iterations) finish_window();
}

void StabilityDetector::reset() {
  *this = StabilityDetector(options_);
}

void StabilityDetector::finish_window() {
  const double ratio = state_.numerator / state_.denominator;
  const double mean = 0.5 * (std::abs(ratio) + std::abs(state_.previous_ratio));
  if (state_.has_previous && std::abs(ratio - state_.previous_ratio) <= options_.tolerance * mean)
    state_.stable = true;
  state_.has_previous = std::isfinite(ratio);
  state_.previous_ratio = ratio;
  state_.numerator = 0.0;
  state_.denominator = 0.0;
  state_.in_window = 0;
}

}  // namespace scavenger::noise
