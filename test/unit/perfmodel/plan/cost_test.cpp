#include "perfmodel/plan/cost.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {

TEST_CASE("Billing is by the second after the first minute") {
  const Billing billing{};
  CHECK(billed_seconds(12.0, billing) == 60.0);
  CHECK(billed_seconds(61.2, billing) == 62.0);
  CHECK(billed_seconds(61.2, kExactBilling) == 61.2);
}

TEST_CASE("A cluster costs its workers and what else it needs") {
  CHECK(cluster_cost(3600, 8, {.worker_per_hour = 0.5, .fixed_per_hour = 0.25}) == Approx(4.25));
  CHECK(cluster_cost(3600, 8, {}) == 0.0);  // the user's own machines
}

TEST_CASE("A job's time and cost follow from epochs and seconds, and their errors add up") {
  std::vector<TimeObservation> observations;
  for (const double k : {1.0, 4.0})
    for (const double b : {16.0, 64.0})
      observations.push_back({{k, k * b}, 0.1 + 0.01 * b + 0.02 * (k - 1), 0.001});
  const TimeModel time(observations);
  std::vector<EpochObservation> epochs;
  for (const double b : {32.0, 64.0, 128.0, 256.0}) epochs.push_back({b, 10.0 + b / 64.0});
  const auto statistics = StatisticalModel::noise_scale(epochs);

  const JobPrediction job = predict_job({4, 128}, time, statistics, 6400,
                                        {.worker_per_hour = 1.0, .billing = kExactBilling});

  CHECK(job.epochs.value == Approx(12.0));
  CHECK(job.iterations == Approx(600.0));
  CHECK(job.seconds.value == Approx(600.0 * job.iteration_seconds.value));
  CHECK(job.cost.value == Approx(job.seconds.value / 3600 * 4));
  const double epochs_error = job.epochs.standard_error / job.epochs.value;
  const double seconds_error = job.iteration_seconds.standard_error / job.iteration_seconds.value;
  CHECK(job.seconds.standard_error / job.seconds.value ==
        Approx(std::hypot(epochs_error, seconds_error)));
  CHECK(job.seconds.low < job.seconds.value);
  CHECK(job.cost.high == Approx(job.seconds.high / 3600 * 4));
}

TEST_CASE("A statistical model that was followed below zero epochs is refused by name") {
  const TimeModel time(
      std::vector<TimeObservation>{{{1, 32}, 0.1}, {{2, 128}, 0.2}, {{4, 128}, 0.3}});
  const auto falling =
      StatisticalModel::noise_scale(std::vector<EpochObservation>{{100, 20}, {200, 10}});
  CHECK_THROWS_WITH(predict_job({4, 400}, time, falling, 1000, {}), Catch::Contains("noise_scale"));
}

}  // namespace scavenger::perfmodel
