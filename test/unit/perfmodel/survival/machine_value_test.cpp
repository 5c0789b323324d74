#include "perfmodel/survival/machine_value.h"

#include <catch2/catch.hpp>
#include <memory>

#include "perfmodel/survival/bathtub.h"
#include "perfmodel/survival/early_hazard.h"
#include "test/unit/perfmodel/survival/bag_simulator.h"
#include "test/unit/perfmodel/survival/durations.h"

namespace scavenger::perfmodel {
TEST_CASE("a task's dollars follow from price, measured seconds and survival") {
  const EarlyHazard steady({.losses_per_hour = 0.05});
  const EarlyHazard hasty({.early_share = 0.6, .early_seconds = 600.0, .losses_per_hour = 0.5});
  std::vector<MachineOffer> offers{
      {.name = "on demand", .price_per_hour = 1.0, .tasks_at_once = 4, .task_seconds = 900.0},
      {.name = "spot",
       .price_per_hour = 0.3,
       .start_seconds = 60.0,
       .tasks_at_once = 4,
       .survival = &steady,
       .task_seconds = 900.0},
      {.name = "small",
       .price_per_hour = 0.1,
       .start_seconds = 60.0,
       .survival = &steady,
       .task_seconds = 800.0},
      {.name = "hasty",
       .price_per_hour = 0.29,
       .start_seconds = 60.0,
       .tasks_at_once = 4,
       .survival = &hasty,
       .task_seconds = 900.0}};
  const std::vector<OfferValue> ranked = rank_offers(offers, {});
  REQUIRE(ranked.size() == 4);
  CHECK(offers[ranked[0].offer].name == "spot");
  CHECK(offers[ranked[1].offer].name ==
        "hasty");  // a little cheaper by the hour, dearer by the task
  CHECK(offers[ranked[2].offer].name == "small");
  CHECK(offers[ranked[3].offer].name == "on demand");
  CHECK(ranked[3].dollars_per_task == Approx(1.0 / 4 * 0.25));
  CHECK(ranked[0].dollars_per_task > 0.3 / 4 * 0.25);
  CHECK(ranked[0].dollars_per_task < 1.05 * 0.3 / 4 * 0.25);

  SECTION("the next machine is the cheapest of those that were never tried, if there is one") {
    CHECK(next_offer(offers, {}) == 1U);
    offers.push_back({.name = "new", .price_per_hour = 5.0, .survival = &steady});
    offers.push_back(
        {.name = "newer", .price_per_hour = 6.0, .tasks_at_once = 2, .survival = &steady});
    CHECK(next_offer(offers, {}) == 5U);
    CHECK(rank_offers(offers, {}).size() == 4);
  }
  CHECK_FALSE(next_offer({}, {}).has_value());
}

TEST_CASE("paid over useful seconds is what a simulated bag pays") {
  const Bathtub bathtub({});
  const Bag bag{.jobs = 20000, .job_seconds = 2 * kHour, .places = 4};
  const Work work{bag.job_seconds, {.seconds = bag.checkpoint_seconds}, bag.start_seconds};
  const double retire = ExpectedTime(bathtub, work).retire_age_seconds();
  const BagOutcome played = simulate_bag(bag, {}, bathtub, bathtub, 1);
  CHECK(paid_per_useful_second(bathtub, work, retire) ==
        Approx(1.0 + played.overhead()).epsilon(0.002));
}

}  // namespace scavenger::perfmodel
