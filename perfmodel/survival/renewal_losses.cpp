#include "perfmodel/survival/renewal_losses.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

constexpr std::size_t kSteps = 200;

}  // namespace

RenewalLosses::RenewalLosses(const Survival& survival, double replacement_seconds,
                             double until_seconds)
    : step_(until_seconds / static_cast<double>(kSteps)) {
  SCAVENGER_CHECK(until_seconds > 0.0 && replacement_seconds >= 0.0);
  std::vector<double> lost{0.0};  // F
  for (std::size_t i = 1; i <= kSteps; ++i)
    lost.push_back(1.0 - survival.survival(step_ * static_cast<double>(i)));
  losses_ = {0.0};
  for (std::size_t i = 1; i <= kSteps; ++i) {
    double losses = lost[i];
    for (std::size_t j = 1; j <= i; ++j) {
      const double lost_at = step_ * (static_cast<double>(j) - 0.5);
      const double left = step_ * static_cast<double>(i) - lost_at - replacement_seconds;
      if (left <= 0.0) break;
      // Between two points that are known: left is half a step short of the last one at least.
      const auto below = std::min(static_cast<std::size_t>(left / step_), i - 1);
      const double share = std::min(1.0, left / step_ - static_cast<double>(below));
      const double above = below + 1 < losses_.size() ? losses_[below + 1] : lost[i];
      losses += (lost[j] - lost[j - 1]) * (losses_[below] + share * (above - losses_[below]));
    }
    losses_.push_back(losses);
  }
}

double RenewalLosses::until(double seconds) const {
  if (seconds <= 0.0) return 0.0;
  const double place = seconds / step_;
  const auto last = losses_.size() - 1;
  if (place >= static_cast<double>(last)) {
    const std::size_t before = last - last / 10;
    const double per_step = (losses_[last] - losses_[before]) / static_cast<double>(last - before);
    return losses_[last] + per_step * (place - static_cast<double>(last));
  }
  const auto below = static_cast<std::size_t>(place);
  return losses_[below] +
         (place - static_cast<double>(below)) * (losses_[below + 1] - losses_[below]);
}

}  // namespace scavenger::perfmodel
