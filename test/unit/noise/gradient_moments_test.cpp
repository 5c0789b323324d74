#include "noise/gradient_moments.h"

#include <catch2/catch.hpp>
#include <limits>

#include "test/unit/noise/known_gradients.h"

namespace scavenger::noise {

TEST_CASE("Moments solve the two equations of the expected norms, also for unequal parts") {
  const double gradient = 2.0, trace = 30.0;
  const std::vector<double> batch_sizes{4, 12, 48, 64};
  std::vector<PartNorm> parts;
  for (const double b : batch_sizes) parts.push_back({b, gradient + trace / b});

  const auto moments = estimate_moments(parts, gradient + trace / 128.0);

  REQUIRE(moments);
  CHECK(moments->gradient_sqr_norm == Approx(gradient).epsilon(1e-12));
  CHECK(moments->trace_per_sample == Approx(trace).epsilon(1e-12));
}

TEST_CASE("Fewer than two parts with samples, or an infinite norm, say nothing") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<PartNorm> one{{32, 1.0}};
  const std::vector<PartNorm> one_and_empty{{32, 1.0}, {0, 0.0}};
  const std::vector<PartNorm> overflowed{{16, infinity}, {16, 1.0}};

  CHECK_FALSE(estimate_moments({}, 1.0));
  CHECK_FALSE(estimate_moments(one, 1.0));
  CHECK_FALSE(estimate_moments(one_and_empty, 1.0));
  CHECK_FALSE(estimate_moments(overflowed, 1.0));
}

TEST_CASE("A part without samples does not count as one") {
  const std::vector<PartNorm> two{{16, 3.0}, {16, 5.0}};
  const std::vector<PartNorm> two_and_empty{{16, 3.0}, {0, 7.0}, {16, 5.0}};

  CHECK(estimate_moments(two, 2.5) == estimate_moments(two_and_empty, 2.5));
}

}  // namespace scavenger::noise
