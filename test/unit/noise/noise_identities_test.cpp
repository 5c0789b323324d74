#include "noise/noise_identities.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

namespace scavenger::noise {

TEST_CASE("gamma is the ratio of the expected squared norms") {
  const double gradient = 1.0, trace = 250.0, workers = 4.0, batch = 32.0;

  const double gamma = gamma_from_noise_scale(trace / gradient, workers, batch);

  const double expected = (gradient + trace * workers / batch) / (gradient + trace / batch);
  CHECK(gamma == Approx(expected).epsilon(1e-14));
}

TEST_CASE("The noise scale is found again from gamma") {
  for (const double scale : {0.0, 0.5, 42.0, 1e6})
    for (const double workers : {2.0, 7.0, 16.0})
      CHECK(noise_scale_from_gamma(gamma_from_noise_scale(scale, workers, 64.0), workers, 64.0) ==
            Approx(scale).epsilon(1e-9).margin(1e-9));
}

TEST_CASE("One worker's gamma is 1, and all noise means gamma = K") {
  CHECK(gamma_from_noise_scale(123.0, 1.0, 64.0) == 1.0);
  CHECK(gamma_from_noise_scale(std::numeric_limits<double>::infinity(), 8.0, 64.0) == 8.0);
  CHECK(std::isinf(noise_scale_from_gamma(8.0, 8.0, 64.0)));
  CHECK(std::isinf(noise_scale_from_gamma(8.5, 8.0, 64.0)));
}

TEST_CASE("The normalised noise of the paper implies noise scales that agree across K") {
  // ResNet18 at B = 384 and K = 8, 12, 16 (values read from the paper's figure 9).
  CHECK(noise_scale_from_gamma(8 * 0.78679, 8, 384) == Approx(1192).epsilon(0.002));
  CHECK(noise_scale_from_gamma(12 * 0.77358, 12, 384) == Approx(1171).epsilon(0.002));
  CHECK(noise_scale_from_gamma(16 * 0.76923, 16, 384) == Approx(1176).epsilon(0.002));
}

}  // namespace scavenger::noise
