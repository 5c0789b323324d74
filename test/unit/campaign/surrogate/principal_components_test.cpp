#include "campaign/surrogate/principal_components.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/base/random.h"

namespace scavenger::surrogate {

TEST_CASE("principal components find the two directions that profiles were made of") {
  // mean + 3 a u + 0.5 b v, with orthonormal u and v.
  const std::vector<double> u{0.6, 0.8, 0.0, 0.0}, v{0.0, 0.0, 0.8, -0.6};
  RandomStream random(1, "profiles");
  std::vector<std::vector<double>> profiles;
  for (int i = 0; i < 200; ++i) {
    const double a = 3.0 * random.normal(), b = 0.5 * random.normal();
    std::vector<double> profile{5.0, -2.0, 1.0, 0.0};
    for (std::size_t k = 0; k < 4; ++k) profile[k] += a * u[k] + b * v[k];
    profiles.push_back(profile);
  }
  const PrincipalComponents components = principal_components(profiles, {.share = 1.0, .most = 10});
  REQUIRE(components.components() == 2);
  const auto along = [&](std::size_t k, const std::vector<double>& direction) {
    double sum = 0.0;
    for (std::size_t b = 0; b < 4; ++b) sum += components.directions[k][b] * direction[b];
    return std::abs(sum);
  };
  CHECK(along(0, u) == Approx(1.0).epsilon(0.001));
  CHECK(along(1, v) == Approx(1.0).epsilon(0.001));
  CHECK(components.deviations[0] == Approx(3.0).epsilon(0.15));
  CHECK(components.deviations[1] == Approx(0.5).epsilon(0.15));
  for (const auto& profile : profiles) {
    const std::vector<double> again = components.profile(components.coordinates(profile));
    for (std::size_t b = 0; b < 4; ++b) REQUIRE(again[b] == Approx(profile[b]).margin(1e-9));
  }
  CHECK(principal_components(profiles, {.share = 0.9, .most = 10}).components() == 1);
  CHECK(principal_components(profiles, {.share = 1.0, .most = 1}).components() == 1);
}

TEST_CASE("components that are only noise are left out, and those of clean profiles are not") {
  constexpr std::size_t kBins = 200, kShapes = 10;
  for (const double noise : {0.0, 0.1}) {
    RandomStream random(2, "noisy profiles");
    std::vector<std::vector<double>> profiles, clean;
    for (int i = 0; i < 60; ++i) {
      std::vector<double> profile(kBins, 1.0);
      for (std::size_t shape = 1; shape <= kShapes; ++shape) {
        const double size = random.normal() / static_cast<double>(shape);
        for (std::size_t b = 0; b < kBins; ++b)
          profile[b] += size * std::cos(0.0157 * static_cast<double>(shape * b));
      }
      clean.push_back(profile);
      for (double& value : profile) value += noise * random.normal();
      profiles.push_back(profile);
    }
    const PrincipalComponents components = principal_components(profiles, {});
    CHECK(components.components() >= 8);
    CHECK(components.components() <= kShapes + (noise > 0.0 ? 1 : 0));
    double squares = 0.0;
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      const auto again = components.profile(components.coordinates(profiles[i]));
      for (std::size_t b = 0; b < kBins; ++b)
        squares += std::pow(again[b] - clean[i][b], 2) / kBins / 60.0;
    }
    // Ten components hold less than half of the noise; 32 would hold 0.08.
    CHECK(std::sqrt(squares) < (noise > 0.0 ? 0.055 : 1e-6));
  }
}

TEST_CASE("equal profiles have a component, along which nothing lies") {
  const std::vector<std::vector<double>> profiles(3, {1.0, 2.0, 3.0});
  const PrincipalComponents components = principal_components(profiles, {});
  REQUIRE(components.components() == 1);
  CHECK(components.coordinates(profiles[0])[0] == Approx(0.0).margin(1e-12));
  CHECK(components.profile(std::vector<double>{0.0}) == profiles[0]);
}

}  // namespace scavenger::surrogate
