#include "campaign/core/bag_plan.h"

#include <catch2/catch.hpp>

#include "test/unit/campaign/core/scripted_campaign.h"

namespace scavenger::campaign {
namespace {

CatalogueEntry four_cores(double per_hour) {
  CatalogueEntry entry;
  entry.type = "four";
  entry.cores = 4.0;
  entry.on_demand = MachinePrice{.per_hour = per_hour, .source = {}};
  entry.spot = MachinePrice{.per_hour = per_hour / 4.0, .source = {}};
  return entry;
}

CampaignConfig eight_machines(bool spot) {
  CampaignConfig config = small_config();
  config.simulation.checkpoint.interval_seconds = 0.0;
  config.simulation.checkpoint.mean_life_hours = 10.0;
  config.machines.count = 6;
  config.provider.spot = spot;
  return config;
}

TEST_CASE("A bag costs what its machines compute, and a little more", "[bag_plan]") {
  const BagQuestion question{.simulations = 100,
                             .simulation_seconds = 3600.0,
                             .checkpoint_seconds = 1.0,
                             .start_seconds = 60.0};
  const auto options = plan_bag(eight_machines(true), {{four_cores(0.4)}}, question);
  REQUIRE(options.size() == 4);  // 1, 2, 4, 6
  CHECK(options[3].machines == 6);
  CHECK(options[0].slots == 4);
  // 25 hours at 10 cents.
  CHECK(options[0].dollars == Approx(2.5).epsilon(0.02));
  CHECK(options[0].dollars > 2.5);
  CHECK(options[0].seconds > 25.0 * 3600.0);
  CHECK(options[3].seconds == Approx(5.0 * 3600.0).epsilon(0.03));
  CHECK(options[0].losses == Approx(2.5).epsilon(0.05));
  CHECK(options[0].overhead < 0.01);
}

TEST_CASE("Machines that are not spot are not lost", "[bag_plan]") {
  const BagQuestion question{.simulations = 10, .simulation_seconds = 3600.0};
  const auto options = plan_bag(eight_machines(false), {{four_cores(0.4)}}, question);
  CHECK(options[0].losses == 0.0);
  CHECK(options[0].dollars == Approx(1.0).epsilon(0.03));
}

TEST_CASE("Types that are too small or have no price are left out", "[bag_plan]") {
  CampaignConfig config = eight_machines(true);
  config.simulation.cores = 5;
  CHECK(
      plan_bag(config, {{four_cores(0.4)}}, {.simulations = 1, .simulation_seconds = 1.0}).empty());
  config.simulation.cores = 1;
  CatalogueEntry priceless = four_cores(0.4);
  priceless.spot.reset();
  CHECK(plan_bag(config, {{priceless}}, {.simulations = 1, .simulation_seconds = 1.0}).empty());
}

}  // namespace
}  // namespace scavenger::campaign
