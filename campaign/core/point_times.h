// How long the points of a space simulate, from some that were simulated. Pure.
#pragma once

#include <utility>
#include <vector>

#include "campaign/space/space.h"

namespace scavenger::campaign {

// One simulation that was computed whole: the values of its parameters, in the order of the space.
struct TimedPoint {
  std::vector<double> values;
  double seconds = 0.0;
};

// The logarithm of the time is an affine function of the parameters, or of the logarithm of those
// that are nowhere 0 and have one sign, as times often follow powers of sizes. It is fitted by
// least squares. With fewer than two points for each coefficient, and for points that no parameter
// tells apart, it is the mean.
class PointTimes final {
 public:
  // Requires a point at least; all with as many values as the space has parameters.
  PointTimes(const Space& space, const std::vector<TimedPoint>& timed);

  double seconds(PointIndex point) const { return seconds_.at(point); }
  double sum_seconds() const;  // of all points of the space
  // The root of the mean square of the relative error at the points that were simulated.
  double relative_error() const { return relative_error_; }

 private:
  std::vector<double> seconds_;  // of each point
  double relative_error_ = 0.0;
};

}  // namespace scavenger::campaign
