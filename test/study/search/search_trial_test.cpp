#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "runtime/base/random.h"
#include "test/study/search/trial.h"

namespace scavenger::perfmodel {
namespace {

constexpr Policy kPolicies[] = {Policy::kMinimumTime, Policy::kMinimumCost, Policy::kKnee};

// A busy neighbour: nobody, or one who comes and goes.
std::vector<double> some_disturbance(RandomStream& stream) {
  std::vector<double> slower(300, 1.0);
  if (stream.uniform() < 0.3) return slower;
  double now = 1.0;
  for (double& one : slower) {
    if (stream.uniform() < 0.1) now = stream.uniform() < 0.5 ? 1.0 : 1.0 + 2.0 * stream.uniform();
    one = now;
  }
  return slower;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

TEST_CASE("Looking is never charged with more than its budget, whatever the truth is") {
  std::uint64_t broken_off = 0;
  for (std::uint64_t number = 0; number < 24; ++number) {
    RandomStream stream(number, "bound");
    const Policy policy = kPolicies[number % 3];
    const double length = std::pow(10.0, 1.0 + 2.5 * stream.uniform());
    const double budget = 0.01 + 0.09 * stream.uniform();
    TrialTruth truth = with_length(drawn_truth(1000 + number), policy, length);
    for (TrialPoint& point : truth.points)  // tables that follow no law
      point.iteration_seconds *= std::exp(0.7 * stream.normal());
    truth.iteration_scatter = 0.4 * stream.uniform();
    const std::vector<double> disturbance = some_disturbance(stream);
    const TrialOutcome outcome = run_trial(truth,
                                           {.mode = TrialMode::kAuto,
                                            .policy = policy,
                                            .change_seconds = 0.5 * stream.uniform(),
                                            .start_seconds = number % 3 == 0 ? 0.0 : 4.0,
                                            .budget = budget,
                                            .disturbance = disturbance,
                                            .long_iterations = number % 2 == 0 ? 0.0 : 0.1},
                                           number);
    CAPTURE(number, length, budget);
    CHECK(outcome.largest_share <= budget * 1.0001);
    broken_off += outcome.broken_off;
  }
  CHECK(broken_off > 0);
}

TEST_CASE("Where epochs are known, a job that looks around ends hardly later than one that stays") {
  int looked = 0;
  for (std::uint64_t number = 0; number < 12; ++number) {
    const Policy policy = kPolicies[number % 3];
    RandomStream stream(number, "length");
    const TrialTruth truth =
        with_length(drawn_truth(number), policy, std::pow(10.0, 1.0 + 2.0 * stream.uniform()));
    TrialSetting setting{.policy = policy, .change_seconds = 0.1, .knows_epochs = true};
    const double off = run_trial(truth, setting, number).objective;
    setting.mode = TrialMode::kAuto;
    const TrialOutcome outcome = run_trial(truth, setting, number);
    looked += outcome.moves > 0 ? 1 : 0;
    CAPTURE(number, truth.name);
    // The knee's objective is a product of two that may each grow by the budget.
    CHECK(outcome.objective <= off * (policy == Policy::kKnee ? 1.14 : 1.07));
  }
  CHECK(looked > 4);
}

TEST_CASE("A search that is worth it comes near the oracle where the job is long enough") {
  for (const Policy policy : kPolicies) {
    std::vector<double> long_jobs, beside_off, beside_partial;
    for (std::uint64_t number = 0; number < 5; ++number) {
      for (const double length : {60.0, 1200.0}) {
        const TrialTruth truth = with_length(drawn_truth(number), policy, length);
        TrialSetting setting{.policy = policy, .change_seconds = 0.1};
        const double off = run_trial(truth, setting, number).objective;
        setting.mode = TrialMode::kPartial;
        const double partial = run_trial(truth, setting, number).objective;
        setting.mode = TrialMode::kAuto;
        const double found = run_trial(truth, setting, number).objective;
        beside_off.push_back(found / off);
        beside_partial.push_back(found / partial);
        if (length == 1200.0)
          long_jobs.push_back(found / truth.objective(truth.oracle(policy), policy));
      }
    }
    CAPTURE(static_cast<int>(policy));
    CHECK(median(long_jobs) < 1.1);
    CHECK(median(beside_partial) < 1.0);
    CHECK(std::ranges::count_if(beside_off, [](double one) { return one > 1.07; }) <= 1);
  }
}

TEST_CASE("A look for what the loss tells is not begun again and again, and given up each time") {
  std::uint64_t moves = 0;
  for (const std::uint64_t number : {0, 3, 4, 5}) {
    const TrialTruth truth = with_length(drawn_truth(number), Policy::kKnee, 20000.0);
    const TrialSetting setting{
        .mode = TrialMode::kAuto, .policy = Policy::kKnee, .change_seconds = 0.1};
    moves += run_trial(truth, setting, number).moves;
  }
  CHECK(moves < 150);
}

TEST_CASE("On a busy machine the search does not go to and fro") {
  RandomStream stream(7, "neighbours");
  std::vector<double> beside_quiet;
  for (std::uint64_t number = 0; number < 8; ++number) {
    const std::vector<double> disturbance = some_disturbance(stream);
    const Policy policy = Policy::kMinimumTime;
    const TrialTruth truth = with_length(drawn_truth(number), policy, 300.0);
    TrialSetting setting{.mode = TrialMode::kAuto,
                         .policy = policy,
                         .change_seconds = 0.1,
                         .disturbance = disturbance};
    const TrialOutcome busy = run_trial(truth, setting, number);
    setting.disturbance = {};
    const TrialOutcome quiet = run_trial(truth, setting, number);
    CAPTURE(number);
    CHECK(busy.moves <= 80);
    beside_quiet.push_back((1.0 + busy.regret) / (1.0 + quiet.regret));
  }
  // Of one job it is chance: the two see other iterations.
  CHECK(median(beside_quiet) <= 1.25);
}

}  // namespace scavenger::perfmodel
