#include "campaign/surrogate/kriging.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "perfmodel/fit/matrix.h"

namespace scavenger::surrogate {
namespace {

constexpr std::size_t kPoints = 16;
const CorrelationOfPoints kSmoothProcess({0.7}, 1e-3);

std::vector<std::vector<double>> evenly_spaced() {
  std::vector<std::vector<double>> units;
  for (std::size_t i = 0; i < kPoints; ++i)
    units.push_back({2.0 * static_cast<double>(i) / (kPoints - 1) - 1.0});
  return units;
}

double exact(double x) {
  return std::sin(3.0 * x);
}

// Its sign changes from point to point.
double noise_at(std::size_t point) {
  return point % 2 == 0 ? 1.0 : -1.0;
}

double mean_at(const Kriging& kriging, std::size_t component, const std::vector<double>& left,
               double x) {
  return perfmodel::dot(kriging.covariances(std::vector<double>{x}),
                        kriging.weights(component, left));
}

}  // namespace

TEST_CASE("what is left at points is continued between them, and noise is not") {
  std::vector<std::vector<double>> values(2);
  for (std::size_t i = 0; i < kPoints; ++i) {
    values[0].push_back(exact(evenly_spaced()[i][0]));
    values[1].push_back(noise_at(i));
  }
  const Kriging kriging(kSmoothProcess, evenly_spaced(), std::vector<double>(kPoints, 1.0), values);
  CHECK(kriging.noise(0) < 1e-3);
  CHECK(kriging.noise(1) >= 1.0);
  for (const double x : {-0.9, -0.13, 0.4, 0.77}) {
    CHECK(mean_at(kriging, 0, values[0], x) == Approx(exact(x)).margin(0.01));
    CHECK(std::abs(mean_at(kriging, 1, values[1], x)) < 0.3);
  }
  // What was left is another function than the one that the noise was found from.
  CHECK(mean_at(kriging, 0, std::vector<double>(kPoints, 0.5), 0.4) == Approx(0.5).margin(0.01));
  CHECK(mean_at(kriging, 0, std::vector<double>(kPoints, 0.0), 0.4) == 0.0);
}

// Noise on a smooth function, of which one point has much more than the others.
TEST_CASE("a longer simulation counts for more") {
  std::vector<std::vector<double>> values(1);
  for (std::size_t i = 0; i < kPoints; ++i)
    values[0].push_back(exact(evenly_spaced()[i][0]) + 0.3 * noise_at(i));
  const double at = evenly_spaced()[8][0];
  std::vector<double> steps(kPoints, 1.0);
  const double alike =
      mean_at(Kriging(kSmoothProcess, evenly_spaced(), steps, values), 0, values[0], at);
  steps[8] = 16.0;
  const double longer =
      mean_at(Kriging(kSmoothProcess, evenly_spaced(), steps, values), 0, values[0], at);
  CHECK(std::abs(longer - values[0][8]) < 0.5 * std::abs(alike - values[0][8]));
}

}  // namespace scavenger::surrogate
