#include "campaign/core/bag_plan.h"

#include <catch2/catch.hpp>
#include <memory>

#include "perfmodel/survival/early_hazard.h"
#include "test/unit/campaign/core/scripted_campaign.h"

namespace scavenger::campaign {
namespace {

constexpr double kHour = 3600.0;

CatalogueEntry machine(const std::string& type, double cores, double spot_price) {
  CatalogueEntry entry;
  entry.type = type;
  entry.cores = cores;
  entry.on_demand = MachinePrice{.per_hour = 4.0 * spot_price, .source = {}};
  entry.spot = MachinePrice{.per_hour = spot_price, .source = {}};
  return entry;
}

CampaignPlan spot_plan(std::uint32_t points, std::vector<CatalogueEntry> entries) {
  CampaignConfig config = small_config(points);
  config.simulation.steps = 1'000'000;
  config.simulation.checkpoint.interval_seconds = 0.0;
  config.simulation.checkpoint.mean_life_hours = 10.0;
  config.machines.count = 6;
  config.provider.type = ProviderType::kGcp;
  config.provider.spot = true;
  return {config, {std::move(entries)}};
}

RehearsedWorld world_of(double simulation_seconds) {
  return {.simulation_seconds = [=](PointIndex, const std::string&) { return simulation_seconds; },
          .checkpoint_seconds = 1.0,
          .lives = std::make_shared<perfmodel::EarlyHazard>(
              perfmodel::constant_hazard({}, 10.0 * kHour))};
}

TEST_CASE("A bag costs what its machines compute, and a little more", "[bag_plan]") {
  const auto options = plan_types(spot_plan(100, {machine("four", 4.0, 0.1)}), world_of(kHour));
  REQUIRE(options.size() == 4);  // 1, 2, 4, 6
  CHECK(options[3].machines == 6);
  CHECK(options[0].slots == 4);
  // 25 hours at 10 cents.
  CHECK(options[0].dollars == Approx(2.5).epsilon(0.04));
  CHECK(options[0].dollars > 2.5);
  CHECK(options[0].seconds > 25.0 * kHour);
  CHECK(options[3].seconds ==
        Approx(25.0 / 6.0 * kHour).epsilon(0.25));  // the last wave is not full
  CHECK(options[0].losses == Approx(2.5).margin(2.0));
  CHECK(options[0].overhead < 0.03);
  CHECK(options[0].simulations == Approx(100.0));
}

TEST_CASE("Machines that are not spot are not lost", "[bag_plan]") {
  CampaignPlan plan = spot_plan(10, {machine("four", 4.0, 0.1)});
  plan.config.provider.spot = false;
  const auto options = plan_types(plan, world_of(kHour));
  CHECK(options[0].losses == 0.0);
  CHECK(options[0].dollars == Approx(0.4 * 3.0).epsilon(0.03));  // three waves
}

TEST_CASE("Types that are too small or have no price are left out", "[bag_plan]") {
  CampaignPlan plan = spot_plan(1, {machine("four", 4.0, 0.1)});
  plan.config.simulation.cores = 5;
  CHECK(plan_types(plan, world_of(1.0)).empty());
  plan.config.simulation.cores = 1;
  plan.catalogue.entries[0].spot.reset();
  plan.catalogue.entries[0].on_demand.reset();
  CHECK(plan_types(plan, world_of(1.0)).empty());
}

TEST_CASE("The campaign finds the type that costs least", "[bag_plan]") {
  // "dear" costs twice as much, and is as fast.
  const CampaignPlan plan = spot_plan(200, {machine("dear", 1.0, 0.2), machine("cheap", 1.0, 0.1)});
  const BagOption chosen = plan_campaign(plan, world_of(0.5 * kHour));
  CHECK(chosen.status == "finished");
  const double least = 200 * 0.5 * 0.1;
  CHECK(chosen.dollars > least);
  CHECK(chosen.dollars < 1.15 * least);  // both are tried
}

TEST_CASE("A plan keeps max_cost", "[bag_plan]") {
  CampaignPlan plan = spot_plan(100, {machine("four", 4.0, 0.1)});
  plan.config.stop.max_cost = 1.0;
  const BagOption chosen = plan_campaign(plan, world_of(kHour));
  CHECK(chosen.status == "max_cost");
  CHECK(chosen.dollars <= 1.0);
  CHECK(chosen.dollars > 0.9);
  CHECK(chosen.simulations < 45.0);
  CHECK(chosen.simulations > 20.0);
}

TEST_CASE("What is left of a large bag takes as long as what was rehearsed", "[bag_plan]") {
  const auto small = plan_types(spot_plan(80, {machine("one", 1.0, 0.1)}), world_of(kHour));
  const auto large = plan_types(spot_plan(8000, {machine("one", 1.0, 0.1)}), world_of(kHour));
  CHECK(large[0].dollars == Approx(100.0 * small[0].dollars).epsilon(0.03));
  CHECK(large[0].simulations == Approx(8000.0));
}

TEST_CASE("Segments end before machines do", "[rehearsal]") {
  CampaignPlan plan = spot_plan(8, {machine("one", 1.0, 0.1)});
  plan.wall_seconds = 0.5 * kHour;
  for (const double interval : {0.0, 1000.0}) {
    INFO(interval);
    plan.config.simulation.checkpoint.interval_seconds = interval;
    RehearsedWorld world = world_of(3.0 * kHour);
    world.lives.reset();  // they end at the wall only
    const Rehearsed rehearsed = rehearse(plan, world, 1);
    CHECK(rehearsed.status == "finished");
    CHECK(rehearsed.done == 8);
    CHECK(rehearsed.spent[static_cast<std::size_t>(Spent::kRedone)].seconds < 1.0);
  }
}

// The first segment would take three lives of machines.
TEST_CASE("A first segment that no machine lives for becomes shorter", "[rehearsal]") {
  CampaignPlan plan = spot_plan(2, {machine("one", 1.0, 0.1)});
  plan.wall_seconds = kHour;
  RehearsedWorld world = world_of(3.0 * 64.0 * kHour);
  world.lives.reset();
  plan.config.simulation.limit_hours = 1000.0;
  const Rehearsed rehearsed = rehearse(plan, world, 1);
  CHECK(rehearsed.status == "finished");
  CHECK(rehearsed.done == 2);
}

TEST_CASE("What no machine lives for fails instead of going on for ever", "[rehearsal]") {
  CampaignPlan plan = spot_plan(2, {machine("one", 1.0, 0.1)});
  plan.wall_seconds = kHour;
  RehearsedWorld world = world_of(3.0 * kHour);
  world.lives.reset();
  SECTION("a segment cannot be cut") {
    plan.config.simulation.step_multiple = plan.config.simulation.steps;
  }
  SECTION("the command takes checkpoints by itself, and too rarely") {
    plan.config.simulation.checkpoint.mode = CheckpointMode::kSelf;
    plan.config.simulation.checkpoint.interval_seconds = 2.0 * kHour;
  }
  const Rehearsed rehearsed = rehearse(plan, world, 1);
  CHECK(rehearsed.status == "finished");
  CHECK(rehearsed.done == 0);
  CHECK(rehearsed.losses == 4);  // two tries each
}

TEST_CASE("Checkpoints that a command takes by itself are gone on from", "[rehearsal]") {
  CampaignPlan plan = spot_plan(4, {machine("one", 1.0, 0.1)});
  plan.wall_seconds = kHour;
  plan.config.simulation.checkpoint.mode = CheckpointMode::kSelf;
  plan.config.simulation.checkpoint.interval_seconds = 600.0;
  RehearsedWorld world = world_of(2.5 * kHour);
  world.lives.reset();
  const Rehearsed rehearsed = rehearse(plan, world, 1);
  CHECK(rehearsed.done == 4);
  const Amount useful = rehearsed.spent[static_cast<std::size_t>(Spent::kUseful)];
  CHECK(useful.seconds == Approx(4 * 2.5 * kHour).epsilon(0.02));
}

}  // namespace
}  // namespace scavenger::campaign
