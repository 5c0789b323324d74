// Student's t distribution.
#pragma once

namespace scavenger::perfmodel {

// The value that |t| exceeds with probability 1 - confidence. Requires degrees > 0 and
// 0 < confidence < 1.
double student_quantile(double confidence, double degrees);

}  // namespace scavenger::perfmodel
