#include "noise/ratio_interval.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/base/random.h"

namespace scavenger::noise {

TEST_CASE("With exact means the interval is the ratio") {
  const Interval interval = positive_ratio_interval({6.0, 3.0, 0.0, 0.0, 0.0}, 1.96);
  CHECK(interval.low == Approx(2.0));
  CHECK(interval.high == Approx(2.0));
}

TEST_CASE("A well known denominator gives the delta method's interval") {
  const Interval interval = positive_ratio_interval({6.0, 3.0, 0.0009, 0.0, 0.0}, 2.0);
  CHECK(interval.low == Approx(2.0 - 2.0 * 0.03 / 3.0));
  CHECK(interval.high == Approx(2.0 + 2.0 * 0.03 / 3.0));
}

TEST_CASE("A denominator that may be zero leaves the interval open upwards") {
  const Interval interval = positive_ratio_interval({6.0, 0.1, 0.01, 0.01, 0.0}, 2.0);
  CHECK(interval.low > 0.0);
  CHECK(std::isinf(interval.high));

  const Interval nothing_known = positive_ratio_interval({0.1, 0.1, 1.0, 1.0, 0.0}, 2.0);
  CHECK(nothing_known.low == 0.0);
  CHECK(std::isinf(nothing_known.high));
}

TEST_CASE("The interval covers the true ratio as often as it says, even for a poor denominator") {
  RandomStream stream(3, "fieller");
  const double numerator = 5.0, denominator = 1.0, deviation = 0.45;  // 2.2 standard errors
  int covered = 0;
  const int trials = 4000;
  for (int i = 0; i < trials; ++i) {
    const double common = 0.3 * stream.normal();
    const RatioEstimate estimate{numerator + common + 0.4 * stream.normal(),
                                 denominator + common + deviation * stream.normal(), 0.25,
                                 0.09 + deviation * deviation, 0.09};
    const Interval interval = positive_ratio_interval(estimate, 1.959964);
    covered += interval.low <= 5.0 && 5.0 <= interval.high ? 1 : 0;
  }
  CHECK(covered > 0.935 * trials);
  CHECK(covered < 0.965 * trials);
}

TEST_CASE("Student's quantiles agree with the tables") {
  CHECK(student_quantile(0.95, 10) == Approx(2.228139).epsilon(1e-6));
  CHECK(student_quantile(0.95, 1e9) == Approx(1.959964).epsilon(1e-6));
}

}  // namespace scavenger::noise
