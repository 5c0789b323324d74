// Student's t distribution.
#pragma once

namespace scavenger::perfmodel {

// The value that |t| exceeds with probability 1 - confidence. Requires degrees > 0 and
// 0 < confidence < 1.
double student_quantile(double confidence, double degrees);

// The probability that t is below `value`. Requires degrees > 0.
double student_share(double value, double degrees);

}  // namespace scavenger::perfmodel
