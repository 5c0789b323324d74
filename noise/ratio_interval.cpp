#include "noise/ratio_interval.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "runtime/base/check.h"

namespace scavenger::noise {

Interval positive_ratio_interval(const RatioEstimate& estimate, double t) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double t2 = t * t;
  // a r^2 - 2 h r + c <= 0.
  const double a = estimate.denominator * estimate.denominator - t2 * estimate.denominator_variance;
  const double h = estimate.numerator * estimate.denominator - t2 * estimate.covariance;
  const double c = estimate.numerator * estimate.numerator - t2 * estimate.numerator_variance;
  const double discriminant = h * h - a * c;
  if (a > 0.0) {
    // The point estimate satisfies the inequality, so there are roots; rounding may hide them.
    const double root = std::sqrt(std::max(discriminant, 0.0));
    return {std::max((h - root) / a, 0.0), std::max((h + root) / a, 0.0)};
  }
  // The denominator may be zero: open upwards. Below, it ends where the numerator is significant.
  if (c <= 0.0 || discriminant <= 0.0 || a == 0.0) return {0.0, infinity};
  const double root = std::sqrt(discriminant);
  return {std::max((h - root) / a, 0.0), infinity};
}

double student_quantile(double confidence, double degrees) {
  SCAVENGER_CHECK(confidence > 0.0 && confidence < 1.0 && degrees > 0.0);
  const boost::math::students_t distribution(degrees);
  return boost::math::quantile(boost::math::complement(distribution, (1.0 - confidence) / 2.0));
}

}  // namespace scavenger::noise
