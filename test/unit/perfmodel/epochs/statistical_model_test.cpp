#include "perfmodel/epochs/statistical_model.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

std::vector<NoiseObservation> noise_at(const std::vector<double>& batches) {
  std::vector<NoiseObservation> noise;
  for (const double b : batches) noise.push_back({b, 0.5 + 4.0 / std::sqrt(b)});
  return noise;
}

}  // namespace

TEST_CASE("Scavenger's model finds its own coefficients, the intercept unclamped") {
  std::vector<EpochObservation> epochs;
  for (const double b : {256.0, 512.0, 1024.0})
    epochs.push_back({b, -100.0 + 500.0 * (0.5 + 4.0 / std::sqrt(b))});

  const auto model = StatisticalModel::scavenger(epochs, noise_at({128, 2048}));

  CHECK(model.noise_coefficients()[0] == Approx(0.5));
  CHECK(model.noise_coefficients()[1] == Approx(4.0));
  CHECK(model.coefficients()[0] == Approx(-100.0));
  CHECK(model.coefficients()[1] == Approx(500.0));
  CHECK(model.epochs(768).value == Approx(-100.0 + 500.0 * (0.5 + 4.0 / std::sqrt(768.0))));
  CHECK_FALSE(model.relative());
}

TEST_CASE("The noise-scale model finds e_min and B_c from runs at several batch sizes") {
  std::vector<EpochObservation> epochs;
  for (const double b : {64.0, 256.0, 1024.0}) epochs.push_back({b, 10.0 * (1.0 + b / 500.0)});

  const auto model = StatisticalModel::noise_scale(epochs);

  CHECK(model.coefficients()[0] == Approx(10.0));
  CHECK(model.coefficients()[0] / model.coefficients()[1] == Approx(500.0));
}

TEST_CASE("One run and a measured noise scale give every batch size") {
  const auto model =
      StatisticalModel::noise_scale(std::vector<EpochObservation>{{128, 20.0}}, 372.0);
  CHECK(model.epochs(128).value == Approx(20.0));
  CHECK(model.epochs(512).value == Approx(20.0 * (372.0 + 512.0) / (372.0 + 128.0)));
}

TEST_CASE("Without any run the models are relative") {
  const auto by_scale = StatisticalModel::noise_scale({}, 400.0);
  CHECK(by_scale.relative());
  CHECK(by_scale.epochs(800).value / by_scale.epochs(100).value == Approx(1200.0 / 500.0));

  const auto by_noise = StatisticalModel::scavenger({}, noise_at({128, 2048}));
  CHECK(by_noise.relative());
  CHECK(by_noise.epochs(by_noise.reference_batch()).value == Approx(1.0));
  CHECK(by_noise.epochs(512).value / by_noise.epochs(2048).value ==
        Approx((0.5 + 4 / std::sqrt(512.0)) / (0.5 + 4 / std::sqrt(2048.0))));
}

TEST_CASE("The form is chosen by its error on batch sizes that were left out") {
  std::vector<EpochObservation> rising, falling;
  for (const double b : {64.0, 128.0, 256.0, 512.0, 1024.0}) {
    rising.push_back({b, 10.0 * (1.0 + b / 500.0)});
    falling.push_back({b, 20.0 + 300.0 / std::sqrt(b)});
  }
  const auto noise = noise_at({64, 1024});

  const auto for_rising = choose_statistical_model(rising, noise);
  const auto for_falling = choose_statistical_model(falling, noise);

  CHECK(for_rising.model.form() == StatisticalForm::kNoiseScale);
  CHECK(for_falling.model.form() == StatisticalForm::kScavenger);
  REQUIRE(for_rising.scores.size() == 2);
  CHECK(for_rising.scores[0].held_out_error < for_rising.scores[1].held_out_error);
}

TEST_CASE("Where nothing can be held out, no score is claimed") {
  const std::vector<EpochObservation> one{{128, 20.0}};
  CHECK(choose_statistical_model(one, noise_at({64, 256})).scores.empty());
  CHECK(choose_statistical_model(one, {}, 300.0).model.form() == StatisticalForm::kNoiseScale);
}

TEST_CASE("Error bars come from the scatter, or from what is usual where none can be seen") {
  const auto two_points =
      StatisticalModel::noise_scale(std::vector<EpochObservation>{{100, 10.0}, {200, 12.0}});
  CHECK(two_points.epochs(150).standard_error > 0.05 * 11.0);

  std::vector<EpochObservation> tight;
  for (int i = 1; i <= 40; ++i) tight.push_back({100.0 * i, 10.0 + i});
  const auto many_points = StatisticalModel::noise_scale(tight);
  CHECK(many_points.epochs(2000).standard_error < 0.01 * 30.0);
  CHECK(many_points.epochs(20000).standard_error > 5 * many_points.epochs(2000).standard_error);
}

TEST_CASE("Mixed learning-rate phases and missing knowledge are refused") {
  using Catch::Contains;
  const std::vector<EpochObservation> mixed{{64, 10.0, 0}, {128, 11.0, 2}};
  const std::vector<EpochObservation> one{{64, 10.0}};
  CHECK_THROWS_WITH(StatisticalModel::noise_scale(mixed), Contains("phases 0 and 2 are mixed"));
  CHECK_THROWS_WITH(StatisticalModel::noise_scale(one), Contains("fewer than two batch sizes"));
  CHECK_THROWS_WITH(StatisticalModel::scavenger(one, noise_at({64})),
                    Contains("noise is known at fewer than two"));
  CHECK_THROWS_AS(
      StatisticalModel::noise_scale(std::vector<EpochObservation>{{64, -1.0}, {128, 2.0}}),
      DataError);
}

}  // namespace scavenger::perfmodel
