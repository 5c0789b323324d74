// A confidence interval for the ratio of two means that are estimated with correlated errors.
#pragma once

namespace scavenger::noise {

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

struct RatioEstimate {
  double numerator = 0.0;
  double denominator = 0.0;
  double numerator_variance = 0.0;  // of the estimates themselves, not of single observations
  double denominator_variance = 0.0;
  double covariance = 0.0;
};

// Fieller's (1954) interval for a ratio that is known not to be negative: all r >= 0 with
// |numerator - r denominator| <= t * its standard error. Unlike the delta method it stays right
// if the denominator is hardly larger than its error: the interval is then open upwards
// (`high` is infinity), and if nothing is known it is [0, infinity). `t` is the quantile of
// Student's t distribution for the wanted confidence.
Interval positive_ratio_interval(const RatioEstimate& estimate, double t);

// Quantile of |t| that a Student variable with `degrees` of freedom exceeds with probability
// 1 - confidence. Requires degrees > 0 and 0 < confidence < 1.
double student_quantile(double confidence, double degrees);

}  // namespace scavenger::noise
