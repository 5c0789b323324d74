// How many losses any placement must have on the published lifetimes, beside a machine per job and
// beside what the policies have. SCAVENGER_SURVIVAL_SEEDS=2000 prints the tables of
// docs/results/survival.md.
#include "test/unit/perfmodel/survival/loss_floor.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "perfmodel/survival/early_hazard.h"
#include "test/unit/perfmodel/survival/bag_simulator.h"
#include "test/unit/perfmodel/survival/published_worlds.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kStart = 90.0;
constexpr double kMostOverhead = 0.03;
// What Young and Daly's overhead and 0.1 % leave for starts and waits, beside what checkpoints and
// losses cost the policy: of bags of 4 h on all machines, with a wall.
constexpr double kOverheadLeft = 0.0086;

// Losses per completed job if each gets a new machine, and keeps nothing of a lost attempt.
double losses_of_machine_per_job(const Survival& truth, double job_seconds) {
  const double lives = truth.survival(job_seconds);
  return (1.0 - lives) / lives;
}

// Losses per job of the policies' bags.
double measured_losses(const World& world, const Bag& bag, int seeds) {
  double losses = 0.0;
  for (int seed = 1; seed <= seeds; ++seed)
    losses += static_cast<double>(
        simulate_bag(bag, {}, *world.truth, *world.model, static_cast<std::uint64_t>(seed))
            .failures);
  return losses / seeds / static_cast<double>(bag.jobs);
}

}  // namespace

TEST_CASE("without ageing no placement has fewer losses than another") {
  const EarlyHazard constant({.early_share = 0.0, .losses_per_hour = 0.036});
  CHECK(loss_floor(constant, kStart, 1.0, true).losses_per_second == Approx(1e-5).epsilon(1e-6));
  CHECK(fewest_losses(constant, 20 * kHour) == Approx(20 * kHour * 1e-5).epsilon(2e-3));
}

TEST_CASE("waiting lowers the floor where the early hazard is high, and costs money") {
  const EarlyHazard early({.early_share = 0.3, .early_seconds = 1200.0, .losses_per_hour = 0.0036});
  const LossFloor at_work = loss_floor(early, kStart, 1.0, false);
  const LossFloor cheap = loss_floor(early, kStart, 0.005, true);
  const LossFloor dear = loss_floor(early, kStart, 0.03, true);
  CHECK(at_work.idle_seconds == 0.0);
  CHECK(cheap.losses_per_second < at_work.losses_per_second);
  CHECK(dear.losses_per_second < cheap.losses_per_second);
  CHECK(dear.idle_seconds > cheap.idle_seconds);
  // No placement is below the least hazard of any age.
  CHECK(dear.losses_per_second >= 1e-6);
}

TEST_CASE("a short bag has more losses than one without an end, since its machines are young") {
  const EarlyHazard early({.early_share = 0.3, .early_seconds = 1200.0, .losses_per_hour = 0.0036});
  const double per_second = loss_floor(early, 0.0, 1.0, false).losses_per_second;
  CHECK(fewest_losses(early, kHour) > 2.0 * kHour * per_second);
  CHECK(fewest_losses(early, 20 * kHour) >= 0.99 * 20 * kHour * per_second);
  CHECK(fewest_losses(early, 2 * kHour) < 2.0 * fewest_losses(early, kHour));
}

TEST_CASE("the policies' losses are near the fewest that any placement could have") {
  print(
      "| machines | wall | hours | new each | policy | fewest in this bag | fewest without an end "
      "| "
      "fewest with waiting below 3 % | below 0.86 % | wait below 3 % |");
  for (const Slice& slice : kSlices)
    for (const bool has_wall : {true, false}) {
      const std::optional<World> world = world_of(slice, has_wall);
      if (!world) return;
      const LossFloor at_work = loss_floor(*world->truth, kStart, 1.0, false);
      const LossFloor little = loss_floor(*world->truth, kStart, kOverheadLeft, true);
      const LossFloor waiting = loss_floor(*world->truth, kStart, kMostOverhead, true);
      for (const double hours : {0.25, 1.0, 4.0}) {
        const double seconds = hours * kHour;
        const Bag bag{.jobs = static_cast<std::size_t>(640.0 / hours),
                      .job_seconds = seconds,
                      .job_spread = 0.05,
                      .places = 16};
        const double each = losses_of_machine_per_job(*world->truth, seconds);
        const double policy = measured_losses(*world, bag, study_seeds() > 0 ? study_seeds() : 20);
        const double work_of_place = 640.0 / 16.0 * kHour;
        const double fewest = fewest_losses(*world->truth, work_of_place) / work_of_place * seconds;
        std::string row = fmt::format("| {} | {} | {:g} | {:.4f} |", slice.name,
                                      has_wall ? "24 h" : "none", hours, each);
        for (const double losses :
             {policy, fewest, at_work.losses_per_second * seconds,
              waiting.losses_per_second * seconds, little.losses_per_second * seconds})
          row += fmt::format(" {:.4f}, {:.2f} |", losses, each / losses);
        print(row + fmt::format(" {:.0f} min |", waiting.idle_seconds / 60.0));
        INFO(row);
        CHECK(policy >= 0.95 * fewest);
        CHECK(policy <= 1.2 * fewest);
      }
    }
}

}  // namespace scavenger::perfmodel
