#include "noise/stability.h"

#include <cmath>

#include "runtime/base/check.h"

namespace scavenger::noise {

StabilityDetector::StabilityDetector(StabilityOptions options) : options_(options) {
  SCAVENGER_CHECK(options.window_iterations > 0 && options.tolerance > 0.0);
}

void StabilityDetector::add(double numerator, double denominator, std::uint32_t iterations) {
  numerator_ += numerator;
  denominator_ += denominator;
  iterations_ += iterations;
  in_window_ += iterations;
  if (in_window_ >= options_.window_iterations) finish_window();
}

void StabilityDetector::reset() {
  *this = StabilityDetector(options_);
}

void StabilityDetector::finish_window() {
  const double ratio = numerator_ / denominator_;
  const double mean = 0.5 * (std::abs(ratio) + std::abs(previous_ratio_));
  if (has_previous_ && std::abs(ratio - previous_ratio_) <= options_.tolerance * mean)
    stable_ = true;
  has_previous_ = std::isfinite(ratio);
  previous_ratio_ = ratio;
  numerator_ = 0.0;
  denominator_ = 0.0;
  in_window_ = 0;
}

}  // namespace scavenger::noise
