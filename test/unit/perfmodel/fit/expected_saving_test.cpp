#include "perfmodel/fit/expected_saving.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

namespace scavenger::perfmodel {

TEST_CASE("The expected saving is the mean over all that the logarithm may be", "[fit]") {
  for (const double mean : {-1.0, 0.0, 0.3})
    for (const double spread : {0.05, 0.4, 2.0}) {
      constexpr double kStep = 1e-4;
      double sum = 0.0;
      for (double z = -9.0; z < 9.0; z += kStep)
        sum += kStep * std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi) *
               std::max(0.0, -std::expm1(mean + spread * z));
      CHECK(expected_saving(mean, spread) == Approx(sum).epsilon(1e-6).margin(1e-9));
    }
}

TEST_CASE("Costs without a spread, and without a bound, have an expected saving, too", "[fit]") {
  CHECK(expected_saving(std::log(0.75), 0.0) == Approx(0.25));
  CHECK(expected_saving(0.1, 0.0) == 0.0);
  CHECK(expected_saving(300.0, 30.0) == Approx(0.0).margin(1e-12));  // e^750 has no double
}

}  // namespace scavenger::perfmodel
