// How many machines a job loses in its time, if each that is lost is replaced by a new one: the
// renewal function of their lives. Young machines may be lost more often than old ones, so a short
// job loses more per hour than a long one does.
#pragma once

#include <vector>

#include "perfmodel/survival/survival.h"

namespace scavenger::perfmodel {

// m(t) = F(t) + int_0^t m(t - u - r) dF(u), for one machine that is new at t = 0, and r seconds
// from a loss until the one in its place lives (Cox, Renewal Theory, 1962). Immutable.
class RenewalLosses final {
 public:
  // Precise to about a hundredth of `until_seconds`; later losses come at the rate of the last
  // tenth. Requires until_seconds > 0.
  RenewalLosses(const Survival& survival, double replacement_seconds, double until_seconds);

  // The mean number of losses.
  double until(double seconds) const;

 private:
  double step_ = 0.0;
  std::vector<double> losses_;  // at multiples of the step
};

}  // namespace scavenger::perfmodel
