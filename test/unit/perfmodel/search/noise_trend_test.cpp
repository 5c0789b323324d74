#include "perfmodel/search/noise_trend.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "perfmodel/search/epochs_ratio.h"

namespace scavenger::perfmodel {
namespace {

MeasuredNoise noise_of(double scale, double deviation) {
  return {scale, scale * std::exp(-1.96 * deviation), scale * std::exp(1.96 * deviation)};
}

}  // namespace

TEST_CASE("A power of the samples grows by its logarithm over two") {
  NoiseTrend trend;
  for (double samples = 1000.0; samples < 1e6; samples += 700.0)
    trend.add(samples, noise_of(std::sqrt(samples), 0.1));
  REQUIRE(trend.latest());
  CHECK(trend.latest()->growth == Approx(0.5 * std::log(2.0)).epsilon(1e-6));
  CHECK(trend.latest()->deviation == Approx(0.1 * std::sqrt(2.0)).epsilon(0.1));
}

TEST_CASE("Noise that was measured in the second half only has no trend") {
  NoiseTrend trend;
  CHECK_FALSE(trend.latest());
  trend.add(1000.0, noise_of(50.0, 0.1));
  CHECK_FALSE(trend.latest());
  trend.add(1990.0, noise_of(60.0, 0.1));
  CHECK_FALSE(trend.latest());
  trend.add(4000.0, noise_of(100.0, 0.1));
  REQUIRE(trend.latest());
  CHECK(trend.latest()->growth > 0.0);
  trend.restart();
  CHECK_FALSE(trend.latest());
}

TEST_CASE("Noise that is not known, or is none, changes no trend") {
  NoiseTrend trend;
  trend.add(0.0, noise_of(50.0, 0.1));
  trend.add(100.0, {});
  CHECK_FALSE(trend.latest());
}

TEST_CASE("A larger batch takes fewer epochs where the noise still grows") {
  const MeasuredProgress unmeasured({}, 256.0);
  const auto ratio = [&](std::optional<NoiseGrowth> growth) {
    return expected_epochs_ratio({512.0, 64.0},
                                 {.so_far = noise_of(200.0, 0.1), .growth = growth, .usual = 256.0},
                                 unmeasured);
  };
  const double unknown = ratio({});
  CHECK(ratio(NoiseGrowth{0.0, 0.1}) > 1.1 * unknown);
  CHECK(ratio(NoiseGrowth{1.5, 0.1}) < 0.9 * unknown);
  CHECK(ratio(NoiseGrowth{0.0, 10.0}) == Approx(unknown).epsilon(0.01));  // it says nothing
}

}  // namespace scavenger::perfmodel
