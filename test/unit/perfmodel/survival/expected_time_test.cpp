#include "perfmodel/survival/expected_time.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>

#include "perfmodel/survival/bathtub.h"
#include "perfmodel/survival/early_hazard.h"
#include "runtime/base/random.h"
#include "test/unit/perfmodel/survival/checkpoint_optimum.h"
#include "test/unit/perfmodel/survival/durations.h"

namespace scavenger::perfmodel {
namespace {

constexpr CheckpointCost kNone{.seconds = kInfinity};

// One job, followed until it is done: the machines' lives are drawn.
double played_seconds(const Survival& survival, const Work& work, double age,
                      RandomStream& random) {
  double moment = 0.0, left = work.seconds;
  double life = drawn_life_seconds(survival, age, random.uniform());
  while (left > 0.0) {
    const double segment = next_segment_seconds(survival, age, left, work.checkpoint);
    const double taken = segment < left ? segment + work.checkpoint.seconds : segment;
    if (segment > 0.0 && age + taken < life) {
      moment += taken;
      age += taken;
      left = segment < left ? left - segment : 0.0;
      continue;
    }
    if (segment > 0.0) moment += life - age;
    moment += work.start_seconds;
    age = 0.0;
    life = drawn_life_seconds(survival, 0.0, random.uniform());
  }
  return moment;
}

void check_played(const Survival& survival, const Work& work, double age) {
  constexpr int kPlays = 20000;
  RandomStream random(3, "plays");
  double sum = 0.0, squares = 0.0;
  for (int i = 0; i < kPlays; ++i) {
    const double seconds = played_seconds(survival, work, age, random);
    sum += seconds;
    squares += seconds * seconds;
  }
  const double mean = sum / kPlays;
  const double error = std::sqrt((squares / kPlays - mean * mean) / kPlays);
  const double expected = ExpectedTime(survival, work).on_machine_seconds(age);
  INFO("played " << mean << " +- " << error << ", expected " << expected);
  CHECK(std::abs(expected - mean) < 4.0 * error + 2e-4 * mean);
}

}  // namespace

TEST_CASE("the expected time of exponential lives is the textbook's") {
  // (exp(lambda T) - 1) (1 / lambda + r) without checkpoints (Ross, first passage).
  const double rate = 0.2 / kHour;
  const EarlyHazard survival({.losses_per_hour = 0.2});
  const ExpectedTime time(survival, {4 * kHour, kNone, 90.0});
  const double expected = std::expm1(rate * 4 * kHour) * (1.0 / rate + 90.0);
  CHECK(time.on_machine_seconds(0.0) == Approx(expected));
  CHECK(time.on_machine_seconds(9 * kHour) == Approx(expected));  // without memory
  CHECK(time.on_new_machine_seconds() == Approx(expected + 90.0));
  CHECK(time.prefers(100 * kHour));
  CHECK(std::isinf(time.retire_age_seconds()));
}

TEST_CASE("the expected time is the mean of jobs that are played") {
  const Bathtub bathtub({});
  for (const double age : {0.0, 5.0, 21.0}) {
    check_played(bathtub, {2 * kHour, kNone, 90.0}, age * kHour);
    check_played(bathtub, {4 * kHour, {.seconds = 60.0}, 120.0}, age * kHour);
  }
  const auto walled = with_wall(std::make_shared<EarlyHazard>(EarlyHazardParameters{
                                    .early_share = 0.3, .losses_per_hour = 0.03}),
                                24 * kHour);
  check_played(*walled, {6 * kHour, {.seconds = 30.0}, 90.0}, 22 * kHour);
  check_played(*walled, {30 * kHour, {.seconds = 30.0}, 90.0}, 0.0);  // longer than any life
}

TEST_CASE("the expected time of the rule is that of the oracle's grid") {
  const Bathtub bathtub({});
  const CheckpointProblem problem;
  const CheckpointCost cost{.seconds = problem.checkpoint};
  const ExpectedTime time(bathtub, {problem.work, cost, problem.restart});
  const auto rule = [&](double age, double work) {
    return next_segment_seconds(bathtub, age, work, cost);
  };
  for (const double age : {0.0, 6.0, 20.0})
    CHECK(time.on_machine_seconds(age * kHour) ==
          Approx(expected_seconds_of(bathtub, problem, age * kHour, rule)).epsilon(0.002));
}

TEST_CASE("bathtub: the middle-aged machine is kept, the old one is left for a new one") {
  const Bathtub bathtub({});
  const ExpectedTime time(bathtub, {6 * kHour, kNone, 90.0});
  CHECK(time.prefers(6 * kHour));
  CHECK(time.on_machine_seconds(6 * kHour) < time.on_machine_seconds(0.0));
  CHECK_FALSE(time.prefers(23 * kHour));
  const double retire = time.retire_age_seconds();
  CHECK(retire > 15 * kHour);
  CHECK(retire < 21 * kHour);
  CHECK(time.prefers(retire - 120.0));
  // With checkpoints a loss costs little, so the machine is used almost to its end.
  const ExpectedTime saved(bathtub, {6 * kHour, {.seconds = 10.0}, 90.0});
  CHECK(saved.retire_age_seconds() > retire);
}

TEST_CASE("work that no machine can finish takes forever, with checkpoints it does not") {
  const auto walled = with_wall(
      std::make_shared<EarlyHazard>(EarlyHazardParameters{.losses_per_hour = 0.01}), 24 * kHour);
  CHECK(std::isinf(ExpectedTime(*walled, {25 * kHour, kNone, 90.0}).on_machine_seconds(0.0)));
  CHECK(ExpectedTime(*walled, {25 * kHour, {}, 90.0}).on_machine_seconds(0.0) < 26 * kHour);
  const ExpectedTime fits(*walled, {4 * kHour, kNone, 90.0});
  CHECK_FALSE(fits.prefers(20.1 * kHour));
  CHECK(fits.prefers(19.9 * kHour));
}

}  // namespace scavenger::perfmodel
