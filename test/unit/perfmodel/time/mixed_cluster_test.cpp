#include "perfmodel/time/mixed_cluster.h"

#include <catch2/catch.hpp>

#include "perfmodel/plan/plan.h"
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

MachinePool unequal_pool(Sharing sharing) {
  return {
      {{1.0, 1.0, 1.0, 0.1, "small"}, {2.0, 3.0, 1.0, 0.2, "large"}, {5.0, 6.0, 1.0, 0.4, "huge"}},
      sharing};
}

TEST_CASE("Workers get the machines of a pool in their order") {
  const MachinePool pool = unequal_pool(Sharing::kEven);
  CHECK(pool.size() == 8.0);
  const std::vector<MachineGroup> machines = pool.first(5.0);
  REQUIRE(machines.size() == 3);
  CHECK(machines[1].workers == 2.0);
  CHECK(machines[2].workers == 2.0);
  CHECK(pool.first(1.0).size() == 1);
  CHECK_THROWS_AS(pool.first(9.0), DataError);
}

TEST_CASE("What was observed on unequal machines tells what alike ones would take") {
  const Sharing sharing = GENERATE(Sharing::kEven, Sharing::kDynamic);
  const MachinePool pool = unequal_pool(sharing);
  // 10 ms + 1 ms a sample of a machine of speed 1; synchronisation does not depend on speeds.
  const auto seconds = [&](double workers, double batch, bool is_mixed) {
    double speeds = 0.0, slowest = 100.0;
    for (const MachineGroup& group : pool.first(workers)) {
      speeds += group.workers * group.speed;
      slowest = std::min(slowest, group.speed);
    }
    const double alike = 0.01 + 0.001 * batch / workers;
    const double speed = !is_mixed ? 1.0 : sharing == Sharing::kEven ? slowest : speeds / workers;
    return alike / speed + 0.004 * (workers - 1.0);
  };
  std::vector<TimeObservation> observed;
  for (const double workers : {1.0, 2.0, 4.0, 8.0})
    for (const double batch : {512.0, 2048.0})
      observed.push_back({{workers, batch}, seconds(workers, batch, true), 0.0});

  const TimeModel model(with_slowdowns(observed, pool));

  for (const TimeObservation& one : observed) {
    const Configuration& at = one.configuration;
    CHECK(model.predict(at).seconds.value ==
          Approx(seconds(at.workers, at.global_batch, false)).epsilon(0.02));
    CHECK(predict_mixed(model, pool.first(at.workers), at.global_batch, sharing).seconds ==
          Approx(one.seconds).epsilon(0.02));
  }
  // So it predicts other numbers of these machines.
  const double predicted = predict_mixed(model, pool.first(6.0), 1024.0, sharing).seconds;
  CHECK(predicted == Approx(seconds(6.0, 1024.0, true)).epsilon(0.03));
}

TEST_CASE("A plan of unequal machines has their times, shares and prices") {
  PlanRequest request;
  for (const double workers : {1.0, 2.0, 4.0})
    for (const double batch : {64.0, 256.0})
      request.times.push_back({{workers, batch}, 0.01 + 0.001 * batch / workers, 0.0});
  for (const double batch : {64.0, 256.0}) request.epochs.push_back({batch, 4.0});
  request.samples_per_epoch = 25600.0;
  request.price.billing = kExactBilling;
  request.machines = unequal_pool(Sharing::kDynamic);
  request.candidates = {{1, 256}, {3, 256}};

  const Plan plan = make_plan(request);

  CHECK(plan.rows[0].prediction.iteration_seconds.value == Approx(0.266).epsilon(0.01));
  CHECK_FALSE(plan.rows[1].is_measured);  // of alike machines only
  const PlanRow& mixed = plan.rows[1];
  // (10 + b) / speed is equal, and the b sum to 256.
  CHECK(mixed.prediction.iteration_seconds.value == Approx(0.286 / 7.0).epsilon(0.02));
  REQUIRE(mixed.shares.size() == 2);
  CHECK(mixed.shares[0] + 2.0 * mixed.shares[1] == Approx(256.0));
  CHECK(mixed.prediction.cost.value == Approx(mixed.prediction.seconds.value * 0.5 / 3600.0));
  request.candidates = {{9, 256}};
  CHECK_THROWS_AS(make_plan(request), DataError);
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
