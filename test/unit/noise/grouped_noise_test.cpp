#include "noise/grouped_noise.h"

#include <catch2/catch.hpp>
#include <limits>

#include "test/unit/noise/known_gradients.h"

namespace scavenger::noise {

TEST_CASE("Groups keep their own noise, and the whole is that of the summed norms") {
  const NoiseOptions all_iterations{.window_iterations = 10000.0,
                                    .window_share = std::numeric_limits<double>::infinity()};
  GroupedNoise grouped(2, all_iterations);
  NoiseEstimator whole(all_iterations);
  KnownGradients quiet(1, 32, 4.0, 8.0);    // B_s = 2
  KnownGradients noisy(2, 32, 1.0, 100.0);  // B_s = 100
  const std::vector<double> samples{32, 32};
  for (int i = 0; i < 6000; ++i) {
    quiet.draw(samples);
    noisy.draw(samples);
    const std::vector<double> norms{quiet.parts[0].sqr_norm, noisy.parts[0].sqr_norm,
                                    quiet.parts[1].sqr_norm, noisy.parts[1].sqr_norm};
    const std::vector<double> batch_norms{quiet.batch_sqr_norm, noisy.batch_sqr_norm};
    const std::vector<PartNorm> sums{{32, norms[0] + norms[1]}, {32, norms[2] + norms[3]}};
    REQUIRE(grouped.add(samples, norms, batch_norms, 0.1));
    whole.add({sums, batch_norms[0] + batch_norms[1], 0.1});
  }

  CHECK(grouped.group(0)->noise_scale.value == Approx(2.0).epsilon(0.03));
  CHECK(grouped.group(1)->noise_scale.value == Approx(100.0).epsilon(0.05));
  CHECK(grouped.whole()->noise_scale.value == Approx(whole.estimate()->noise_scale.value));
  CHECK(grouped.whole()->noise_scale.value == Approx(108.0 / 5.0).epsilon(0.03));
}

}  // namespace scavenger::noise
