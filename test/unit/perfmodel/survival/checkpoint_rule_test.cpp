#include "perfmodel/survival/checkpoint_rule.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <vector>

#include "perfmodel/survival/bathtub.h"
#include "perfmodel/survival/early_hazard.h"
#include "perfmodel/survival/kaplan_meier.h"
#include "test/unit/perfmodel/survival/checkpoint_optimum.h"
#include "test/unit/perfmodel/survival/durations.h"
#include "test/unit/perfmodel/survival/lifetime_table.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kMinute = 60.0;
// The fit to the published lifetimes of us-central1-c.
const BathtubParameters kCentral{0.375, 1.11 * kHour, 0.699 * kHour, 24.39 * kHour};

const CheckpointProblem kShortJob{
    .step = 15.0, .work = 60 * kMinute, .checkpoint = 15.0, .restart = 90.0};

// What the rule costs if it believes `model`, beside the best checkpoints for `truth`, as a share.
double excess(const Survival& truth, const Survival& model, const CheckpointProblem& problem,
              double age) {
  const CheckpointCost cost{.seconds = problem.checkpoint};
  const auto rule = [&](double at, double work) {
    return next_segment_seconds(model, at, work, cost);
  };
  const double best = best_checkpoints(truth, problem, age).expected_seconds;
  return expected_seconds_of(truth, problem, age, rule) / best - 1.0;
}

}  // namespace

TEST_CASE("the oracle: best checkpoints of a five-hour job on a new machine") {
  const CheckpointOptimum best = best_checkpoints(Bathtub({}), {}, 0.0);
  CHECK(best.expected_seconds / kMinute == Approx(318.9).margin(0.3));
  CHECK(best.intervals.size() == 7);
  CHECK(best.intervals.front() == 18 * kMinute);
  CHECK(best.intervals.back() == 122 * kMinute);
  const CheckpointOptimum central = best_checkpoints(Bathtub(kCentral), {}, 0.0);
  CHECK(central.expected_seconds / kMinute == Approx(315.9).margin(0.3));
}

TEST_CASE("on published lifetimes the rule costs at most 0.5 % more than the best checkpoints") {
  for (const char* const zone : {"us-central1-c", "us-west1-a"}) {
    const std::vector<Lifetime> lifetimes = published_lifetimes(zone);
    if (lifetimes.empty()) return;
    const KaplanMeier table(lifetimes);
    const auto model = with_wall(
        std::make_shared<EarlyHazard>(fit_early_hazard(lifetimes, 23.5 * kHour)), 24 * kHour);
    for (const double age : {0.0, 1.0, 6.0, 18.0}) {
      const double share = excess(*model, *model, kShortJob, age * kHour);
      INFO(zone << " at " << age << " h: " << share);
      CHECK(share < 0.005);
      CHECK(share > -1e-9);  // else the oracle is not the best
      // The oracle for the table knows the very moments at which its machines were lost.
      CHECK(excess(table, *model, kShortJob, age * kHour) < 0.01);
    }
  }
}

// The rule does not trust the middle of a fitted bathtub, which is nearly without losses. Where
// it could, that costs what checkpoints at the mean hazard cost.
TEST_CASE("on fitted bathtubs the rule costs at most 0.5 % while hazard is high, 1 % elsewhere") {
  for (const BathtubParameters& parameters : {BathtubParameters{}, kCentral})
    for (const double age : {0.0, 0.5, 6.0, 12.0}) {
      const Bathtub bathtub(parameters);
      const double share = excess(bathtub, bathtub, kShortJob, age * kHour);
      INFO(parameters.share << " at " << age << " h: " << share);
      CHECK(share < (age < 1.0 ? 0.005 : 0.01));
    }
}

TEST_CASE("with a known wall the rule stays near the best checkpoints, also just before it") {
  const auto within = std::make_shared<EarlyHazard>(
      EarlyHazardParameters{.early_share = 0.3, .losses_per_hour = 0.01});
  const auto survival = with_wall(within, 24 * kHour);
  for (const double age : {0.0, 6.0, 20.0, 22.0, 23.5}) {
    INFO("at " << age << " h");
    CHECK(excess(*survival, *survival, {}, age * kHour) < 0.005);
  }
}

TEST_CASE("the interval is Young's for the hazard of the age, with a floor") {
  const EarlyHazard survival({.early_share = 0.5, .early_seconds = kHour, .losses_per_hour = 0.01});
  const CheckpointCost cost{.seconds = 10.0};
  CHECK(checkpoint_interval_seconds(survival, 0.0, cost) ==
        Approx(std::sqrt(20.0 / survival.hazard(0.0))));
  const double late = checkpoint_interval_seconds(survival, 20 * kHour, cost);
  CHECK(late == Approx(std::sqrt(20.0 * survival.mean_life_seconds())));
  CHECK(checkpoint_interval_seconds(survival, 20 * kHour, {.seconds = 10.0, .machines = 4.0}) ==
        Approx(0.5 * late));
  CHECK(checkpoint_interval_seconds(survival, 0.0, {.seconds = kInfinity}) == kInfinity);
  CHECK(checkpoint_interval_seconds(survival, 0.0, {.seconds = 0.0}) > 0.0);
}

TEST_CASE("no segment crosses a wall, and none is shorter than its checkpoint") {
  const auto survival = with_wall(
      std::make_shared<EarlyHazard>(EarlyHazardParameters{.losses_per_hour = 0.02}), 24 * kHour);
  const CheckpointCost cost{.seconds = 10.0};
  for (double age = 0.0; age < 24 * kHour; age += 97.0)
    for (const double work : {5.0, 900.0, 4 * kHour, 40 * kHour}) {
      const double segment = next_segment_seconds(*survival, age, work, cost);
      REQUIRE(segment >= 0.0);
      REQUIRE(segment <= work);
      if (segment > 0.0 && segment < work) REQUIRE(age + segment + 20.0 <= 24 * kHour);
      if (segment == work) REQUIRE(age + segment < 24 * kHour);
    }
  CHECK(next_segment_seconds(*survival, 24 * kHour - 15.0, kHour, cost) == 0.0);
  CHECK(next_segment_seconds(*survival, 24 * kHour - 25.0, 14.0, cost) == 14.0);
  CHECK(next_segment_seconds(*survival, 24 * kHour - 15.0, 16.0, {.seconds = kInfinity}) == 0.0);
}

TEST_CASE("segments are even parts of the work, and small work is one segment") {
  const EarlyHazard survival({.losses_per_hour = 0.05});
  const double interval = checkpoint_interval_seconds(survival, 0.0, {});
  CHECK(next_segment_seconds(survival, 0.0, 1.3 * interval, {}) == 1.3 * interval);
  CHECK(next_segment_seconds(survival, 0.0, 2.6 * interval, {}) == Approx(2.6 / 3.0 * interval));
  CHECK(next_segment_seconds(survival, 0.0, 1.0, {}) == 1.0);
}

}  // namespace scavenger::perfmodel
