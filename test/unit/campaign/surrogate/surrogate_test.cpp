#include "campaign/surrogate/surrogate.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace scavenger::surrogate {

// A charge that is nowhere, or a species that the points do not have.
TEST_CASE("where all profiles are 0, predictions have error bars that can be divided by") {
  const std::vector<std::vector<double>> points = {{0.0}, {0.5}, {1.0}};
  std::vector<Sample> samples;
  for (const auto& point : points) samples.push_back({point, {0.0, 0.0, 0.0}, {}, 1.0});
  FitSettings settings;
  settings.members = 2;
  const auto zero_network = [](const TrainingSet& set, const FitSettings&, std::size_t) {
    DenseWeights layer{set.inputs, set.outputs, {}, {}};
    layer.weight.assign(set.inputs * set.outputs, 0.0F);
    layer.bias.assign(set.outputs, 0.0F);
    return Perceptron({layer}, Activation::kTanh);
  };
  Surrogate surrogate = fit_surrogate(UnitSpace(points), samples, settings, zero_network);
  for (const double sigma : surrogate.predict(points[1]).sigma) CHECK(sigma > 0.0);
  surrogate.calibrate(samples);
  for (const double sigma : surrogate.predict(points[1]).sigma) CHECK(std::isfinite(sigma));
  CHECK(std::isfinite(surrogate.variance(points[1])));
  CHECK(surrogate.error_on(samples).rmse == 0.0);
}

}  // namespace scavenger::surrogate
