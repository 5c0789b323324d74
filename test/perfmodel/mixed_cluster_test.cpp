#include "perfmodel/mixed_cluster.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

// Alike machines: compute of 10 ms + 1 ms a sample, and (K - 1) x `sync_seconds` of
// synchronisation.
TimeModel model_of(double sync_seconds) {
  std::vector<TimeObservation> observations;
  for (const double workers : {1.0, 2.0, 4.0, 8.0})
    for (const double batch : {64.0, 256.0, 1024.0})
      observations.push_back(
          {{workers, batch}, 0.01 + 0.001 * batch / workers + sync_seconds * (workers - 1.0), 0.0});
  return TimeModel(observations);
}

TEST_CASE("A cluster of alike machines takes what the model says") {
  const TimeModel model = model_of(0.004);
  const std::vector<MachineGroup> groups = {{3.0, 1.0, 1.0, 0.1}, {1.0, 1.0, 1.0, 0.2}};
  for (const Sharing sharing : {Sharing::kEven, Sharing::kDynamic}) {
    const MixedPrediction mixed = predict_mixed(model, groups, 512.0, sharing);
    CHECK(mixed.seconds == Approx(model.predict({4.0, 512.0}).seconds.value));
    CHECK(mixed.shares[0] == Approx(128.0));
    CHECK(mixed.price_per_hour == Approx(0.5));
  }
}

TEST_CASE("Even shares go at the slowest machine's pace, dynamic ones at the mean speed's") {
  const TimeModel model = model_of(1e-6);
  // The paper's strongest mix of 39 cores, in units of its mean.
  const std::vector<MachineGroup> groups = {
      {1.0, 2.0 / 13.0}, {1.0, 17.0 / 13.0}, {1.0, 20.0 / 13.0}};
  const double alike =
      predict_mixed(model, std::vector{MachineGroup{3.0}}, 768.0, Sharing::kEven).seconds;

  const MixedPrediction even = predict_mixed(model, groups, 768.0, Sharing::kEven);
  const MixedPrediction dynamic = predict_mixed(model, groups, 768.0, Sharing::kDynamic);

  CHECK(even.seconds == Approx(6.5 * alike).epsilon(0.02));
  CHECK(dynamic.seconds == Approx(alike).epsilon(0.02));
  // (10 + b) / speed is equal.
  CHECK(dynamic.shares[0] + dynamic.shares[1] + dynamic.shares[2] == Approx(768.0));
  CHECK((10.0 + dynamic.shares[1]) / (10.0 + dynamic.shares[0]) == Approx(8.5).epsilon(0.05));
}

TEST_CASE("A machine that is too slow for one sample holds the others up all the same") {
  const TimeModel model = model_of(1e-6);
  const std::vector<MachineGroup> groups = {{1.0, 0.01}, {1.0, 1.0}};
  const MixedPrediction mixed = predict_mixed(model, groups, 64.0, Sharing::kDynamic);
  CHECK(mixed.shares[0] == 1.0);
  CHECK(mixed.shares[1] == Approx(63.0));
  CHECK(mixed.seconds == Approx(0.011 / 0.01).epsilon(0.1));
}

TEST_CASE("The slowest link decides what synchronisation takes") {
  const TimeModel model = model_of(0.05);
  const std::vector<MachineGroup> alike = {{4.0}}, one_slow = {{3.0}, {1.0, 1.0, 0.5}};
  const double fast = predict_mixed(model, alike, 64.0, Sharing::kDynamic).seconds;
  const double slow = predict_mixed(model, one_slow, 64.0, Sharing::kDynamic).seconds;
  CHECK(slow - fast == Approx(0.15).epsilon(0.1));
}

TEST_CASE("Clusters that cannot be are refused") {
  const TimeModel model = model_of(0.004);
  CHECK_THROWS_AS(predict_mixed(model, {}, 64.0, Sharing::kEven), DataError);
  for (const MachineGroup& group :
       {MachineGroup{0.0}, MachineGroup{1.0, 0.0}, MachineGroup{1.0, 1.0, -1.0},
        MachineGroup{1.0, 1.0, 1.0, -0.1}, MachineGroup{65.0}})
    CHECK_THROWS_AS(predict_mixed(model, std::vector{group}, 64.0, Sharing::kDynamic), DataError);
}

}  // namespace
}  // namespace scavenger::perfmodel
