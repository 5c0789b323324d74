#include "campaign/surrogate/surrogate.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "test/unit/campaign/surrogate/adam_trainer.h"
#include "test/unit/campaign/surrogate/invented_space.h"

namespace scavenger::surrogate {

namespace {

// A network that says its index everywhere.
Perceptron constant_network(const TrainingSet& set, const FitSettings& settings,
                            std::size_t index) {
  DenseWeights layer{set.inputs, set.outputs, {}, {}};
  layer.weight.assign(set.inputs * set.outputs, 0.0F);
  layer.bias.assign(set.outputs, static_cast<float>(index));
  return Perceptron({layer}, settings.activation);
}

Perceptron zero_network(const TrainingSet& set, const FitSettings& settings, std::size_t) {
  return constant_network(set, settings, 0);
}

// Its second parameter has one value.
Sample affine_sample(double c) {
  return {{c, 7.0}, {1.0 + c, 5.0 - 2.0 * c, 3.0}, {}, 1.0};
}

double error_of_trend(std::size_t samples, bool has_trend) {
  std::vector<std::vector<double>> points;
  std::vector<Sample> trained;
  for (std::size_t i = 0; i < samples; ++i) {
    trained.push_back(affine_sample(static_cast<double>(i) / static_cast<double>(samples)));
    points.push_back(trained.back().parameters);
  }
  points.push_back(affine_sample(1.0).parameters);
  FitSettings settings;
  settings.linear_trend = has_trend;
  settings.continues_remainder = false;  // which knows affine functions, too
  const Surrogate surrogate = fit_surrogate(UnitSpace(points), trained, settings, zero_network);
  const std::vector<Sample> unseen{affine_sample(1.0)};
  return surrogate.error_on(unseen).rmse;
}

}  // namespace

TEST_CASE("an affine function of the parameters is no work for networks") {
  CHECK(error_of_trend(6, true) < 1e-4);
  CHECK(error_of_trend(6, false) > 0.1);
  CHECK(error_of_trend(5, true) > 0.1);  // too few for three coefficients
}

TEST_CASE("what networks leave at simulations is continued to other points") {
  const auto points = invented_points(16);
  const UnitSpace space(points);
  std::vector<Sample> trained, others;
  for (std::size_t i = 0; i < points.size(); ++i)
    (i % 5 == 0 ? trained : others).push_back(invented_sample(points[i]));
  FitSettings settings;
  settings.members = 2;
  settings.iterations = 20;  // hardly trained
  const Surrogate surrogate = fit_surrogate(space, trained, settings, train_with_adam);
  settings.continues_remainder = false;
  const Surrogate networks = fit_surrogate(space, trained, settings, train_with_adam);
  CHECK(networks.error_on(others).rmse > 0.05);
  CHECK(surrogate.error_on(others).rmse < 0.2 * networks.error_on(others).rmse);
  for (const Sample& sample : trained)  // members agree where it was simulated
    CHECK(surrogate.variance(sample.parameters) < 0.1 * networks.variance(sample.parameters));
}

// A charge that is nowhere, or a species that the points do not have.
TEST_CASE("where all profiles are 0, predictions have error bars that can be divided by") {
  const std::vector<std::vector<double>> points = {{0.0}, {0.5}, {1.0}};
  std::vector<Sample> samples;
  for (const auto& point : points) samples.push_back({point, {0.0, 0.0, 0.0}, {}, 1.0});
  FitSettings settings;
  settings.members = 2;
  Surrogate surrogate = fit_surrogate(UnitSpace(points), samples, settings, zero_network);
  for (const double sigma : surrogate.predict(points[1]).sigma) CHECK(sigma > 0.0);
  surrogate.calibrate(samples);
  for (const double sigma : surrogate.predict(points[1]).sigma) CHECK(std::isfinite(sigma));
  CHECK(std::isfinite(surrogate.variance(points[1])));
  CHECK(surrogate.error_on(samples).rmse == 0.0);
}

// Members that say 0 and a constant: their spread is the same everywhere, the error bars are not.
TEST_CASE("bins are expected outside of small error bars, and none where there are no error bars") {
  const std::vector<std::vector<double>> points = {{0.0}, {0.4}, {0.6}, {1.0}};
  std::vector<Sample> samples;
  for (const auto& point : points) {
    const double bar = point[0] < 0.5 ? 0.01 : 10.0;
    samples.push_back({point, {point[0], 2.0, 3.0}, {bar, bar, bar}, 1.0});
  }
  FitSettings settings;
  settings.members = 2;
  settings.linear_trend = false;
  settings.continues_remainder = false;  // which would make members equal
  const Surrogate surrogate = fit_surrogate(UnitSpace(points), samples, settings, constant_network);
  const auto outside = [&](double at) { return surrogate.share_outside(std::vector<double>{at}); };
  CHECK(outside(0.1) > 0.3);  // of the one bin that varies
  CHECK(outside(0.1) <= 1.0 / 3.0);
  CHECK(outside(0.9) < 0.05);
  for (Sample& sample : samples) sample.errors.clear();
  const Surrogate without = fit_surrogate(UnitSpace(points), samples, settings, constant_network);
  CHECK(without.share_outside(points[0]) == 0.0);
}

}  // namespace scavenger::surrogate
