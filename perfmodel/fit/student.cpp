#include "perfmodel/fit/student.h"

#include <boost/math/distributions/students_t.hpp>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {

double student_quantile(double confidence, double degrees) {
  SCAVENGER_CHECK(confidence > 0.0 && confidence < 1.0 && degrees > 0.0);
  const boost::math::students_t distribution(degrees);
  return boost::math::quantile(boost::math::complement(distribution, (1.0 - confidence) / 2.0));
}

}  // namespace scavenger::perfmodel
