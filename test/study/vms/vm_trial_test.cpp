// What plans of machine types promise on simulated jobs whose laws are not the model's. vm_study
// prints the same for more jobs; docs/results/machine_types.md has its numbers.
#include "test/study/vms/vm_trial.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace scavenger::elastic {
namespace {

constexpr std::uint64_t kJobs = 60;

void check_reliability(const std::vector<Promise>& promises) {
  std::size_t seen = 0;
  for (const ReliabilityBin& bin : reliability(promises)) {
    INFO("promised " << bin.promised << " in the mean, held " << bin.held << ", of " << bin.count);
    if (bin.count < 150) continue;
    ++seen;
    CHECK(std::abs(bin.held - bin.promised) < 0.16);
  }
  CHECK(seen >= 4);
}

TEST_CASE("Probabilities of plans mean what they say on jobs with other laws than the model's") {
  std::vector<Promise> time, cost;
  double choices = 0.0, held = 0.0, feasible = 0.0;
  for (std::uint64_t number = 1; number <= kJobs; ++number) {
    const VmTrial trial = run_vm_trial(number, {});
    time.insert(time.end(), trial.time.begin(), trial.time.end());
    cost.insert(cost.end(), trial.cost.begin(), trial.cost.end());
    feasible += trial.is_feasible ? 1.0 : 0.0;
    if (!trial.both) continue;
    CHECK(trial.both->probability >= 0.9);
    ++choices;
    held += trial.both->held ? 1.0 : 0.0;
  }
  WARN("limits that were promised at 0.9 held in " << held << " of " << choices << " plans, of "
                                                   << feasible << " jobs that could be done");
  check_reliability(time);
  check_reliability(cost);
  CHECK(held >= 0.87 * choices);
  CHECK(choices > 0.4 * feasible);  // to promise nothing is no way to keep promises
}

TEST_CASE("A planner that knows of no variance breaks what it promises") {
  double choices = 0.0, held = 0.0;
  for (std::uint64_t number = 1; number <= 20; ++number) {
    const VmTrial trial = run_vm_trial(number, {.variance = false, .auditions = 0});
    if (!trial.both) continue;
    ++choices;
    held += trial.both->held ? 1.0 : 0.0;
  }
  CHECK(choices >= 10.0);
  CHECK(held < 0.87 * choices);
}

}  // namespace
}  // namespace scavenger::elastic
