// Placement and checkpoints on the published lifetimes of preemptible VMs, with their wall of 24 h
// and without. SCAVENGER_SURVIVAL_SEEDS=2000 runs the whole study and prints its tables
// (docs/results/survival.md); without it, a few seeds run.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "perfmodel/survival/expected_time.h"
#include "test/unit/perfmodel/survival/bag_simulator.h"
#include "test/unit/perfmodel/survival/published_worlds.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// The list prices of n1-highcpu-32 in 2019: on demand over preemptible.
constexpr double kPriceRatio = 1.1344 / 0.24;

// The share of jobs that fail, as a mean over uniform ages of the machine that is there.
struct Failures {
  double memoryless = 0.0, chosen = 0.0, each_new = 0.0;
};

Failures failures_at_uniform_ages(const World& world, double job_seconds) {
  const ExpectedTime expected(*world.model, {job_seconds, {.seconds = kNever}, 90.0});
  const double fails_new = 1.0 - chance_to_live(*world.truth, 0.0, job_seconds);
  Failures mean{.each_new = fails_new};
  constexpr int kAges = 24 * 60;
  for (int i = 0; i < kAges; ++i) {
    const double age = (i + 0.5) * kWall / kAges;
    const double fails = 1.0 - chance_to_live(*world.truth, age, job_seconds);
    mean.memoryless += fails / kAges;
    mean.chosen += (expected.prefers(age) ? fails : fails_new) / kAges;
  }
  return mean;
}

struct Total {
  double jobs = 0.0, losses = 0.0, paid = 0.0, useful = 0.0;
  double failed() const { return losses / (jobs + losses); }
  double overhead() const { return paid / useful - 1.0; }
};

Total bags(const Bag& bag, const BagPolicy& policy, const World& world, int seeds) {
  Total total;
  for (int seed = 1; seed <= seeds; ++seed) {
    const BagOutcome outcome =
        simulate_bag(bag, policy, *world.truth, *world.model, static_cast<std::uint64_t>(seed));
    total.jobs += static_cast<double>(bag.jobs);
    total.losses += static_cast<double>(outcome.failures);
    total.paid += outcome.paid_seconds;
    total.useful += outcome.useful_seconds;
  }
  return total;
}

void check_bags(const Slice& slice, const World& world, bool has_wall, double hours, int seeds) {
  // Jobs that were all of the same length would end at the very moment of the wall.
  const Bag bag{.jobs = hours < 1.0 ? 1600U : 160U,
                .job_seconds = hours * kHour,
                .job_spread = 0.05,
                .places = 16};
  const auto run = [&](Placement placement, Checkpoints checkpoints) {
    return bags(bag, {placement, checkpoints}, world, seeds);
  };
  const Total each = run(Placement::kMachinePerJob, Checkpoints::kNone);
  const Total memoryless = run(Placement::kMemoryless, Checkpoints::kNone);
  const Total reuse = run(Placement::kSurvival, Checkpoints::kNone);
  const Total young = run(Placement::kMemoryless, Checkpoints::kYoungDaly);
  const Total rule = run(Placement::kSurvival, Checkpoints::kSurvival);
  std::string row =
      fmt::format("| {} | {} | {:g} |", slice.name, has_wall ? "24 h" : "none", hours);
  for (const Total* one : {&each, &memoryless, &reuse, &young, &rule})
    row += fmt::format(" {:.4f}, {:.2f} % |", one->failed(), 100.0 * one->overhead());
  print(row + fmt::format(" {:.3f} |", 1.0 / (1.0 + rule.overhead())));

  INFO(row);
  CHECK(rule.overhead() < 0.03);
  CHECK(rule.overhead() <= young.overhead() + 0.001);
  CHECK(kPriceRatio / (1.0 + rule.overhead()) >= 0.97 * kPriceRatio);
  CHECK(reuse.failed() <= memoryless.failed());
  if (hours < 1.0) CHECK(each.failed() >= 5.0 * rule.failed());
}

}  // namespace

TEST_CASE("placement by survival halves the failures at uniform ages, where there is a wall") {
  print("| machines | wall | hours | new each | memoryless | chosen | memoryless / chosen |");
  for (const Slice& slice : kSlices)
    for (const bool has_wall : {true, false}) {
      const std::optional<World> world = world_of(slice, has_wall);
      if (!world) return;
      for (const double hours : {0.25, 1.0, 4.0, 6.0, 9.0}) {
        const Failures failures = failures_at_uniform_ages(*world, hours * kHour);
        const double gain = failures.memoryless / failures.chosen;
        const std::string row =
            fmt::format("| {} | {} | {:g} | {:.4f} | {:.4f} | {:.4f} | {:.2f} |", slice.name,
                        has_wall ? "24 h" : "none", hours, failures.each_new, failures.memoryless,
                        failures.chosen, gain);
        print(row);
        INFO(row);
        // Without a wall the hazard only falls: an aged machine is as good as any, for both.
        CHECK(gain >= (has_wall ? slice.least_gain : 0.999));
      }
    }
}

TEST_CASE("bags on published lifetimes: losses, overhead and cost of each policy") {
  const bool is_study = study_seeds() > 0;
  print(
      "| machines | wall | hours | new each | memoryless | reuse by survival | Young-Daly | "
      "survival | cost share |");
  for (const Slice& slice : kSlices)
    for (const bool has_wall : {true, false}) {
      const std::optional<World> world = world_of(slice, has_wall);
      if (!world) return;
      check_bags(slice, *world, has_wall, 0.25, is_study ? study_seeds() : 2);
      check_bags(slice, *world, has_wall, 4.0, is_study ? study_seeds() : 20);
    }
}

}  // namespace scavenger::perfmodel
