// Student's t distribution.
#pragma once

namespace scavenger::perfmodel {

// The value that |t| exceeds with probability 1 - confidence. Requires degrees > 0 and
// 0 < confidence < 1.
double student_quantile(double confidence, double degrees);

// The probability of values up to t, to 0.001 from four degrees on and fast (Wallace 1959).
double student_cdf(double t, double degrees);

}  // namespace scavenger::perfmodel
