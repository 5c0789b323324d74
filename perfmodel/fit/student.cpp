#include "perfmodel/fit/student.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {

double student_quantile(double confidence, double degrees) {
  SCAVENGER_CHECK(confidence > 0.0 && confidence < 1.0 && degrees > 0.0);
  const boost::math::students_t distribution(degrees);
  return boost::math::quantile(boost::math::complement(distribution, (1.0 - confidence) / 2.0));
}

double student_cdf(double t, double degrees) {
  const double z = (8.0 * degrees + 1.0) / (8.0 * degrees + 3.0) *
                   std::sqrt(degrees * std::log1p(t * t / degrees));
  return 0.5 * std::erfc((t < 0.0 ? z : -z) / std::sqrt(2.0));
}

}  // namespace scavenger::perfmodel
