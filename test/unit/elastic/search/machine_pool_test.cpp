#include "elastic/search/machine_pool.h"

#include <catch2/catch.hpp>

namespace scavenger::elastic {
namespace {

MachinePrice dollars(double per_hour) {
  return {.per_hour = per_hour, .source = {}};
}

MachineCatalogue two_types() {
  return {
      {{.type = "fast", .cores = 4.0, .on_demand = dollars(0.4), .spot = dollars(0.1), .count = 3},
       {.type = "slow", .cores = 1.0, .on_demand = dollars(0.1), .count = 2}}};
}

JobConfig rented() {
  JobConfig config;
  config.provider.type = ProviderType::kEmulated;
  return config;
}

}  // namespace

TEST_CASE("Types that are taken in a fixed order are a mixed pool, with their prices") {
  JobConfig config = rented();
  const perfmodel::MachinePool pool = machine_pool(config, two_types());
  REQUIRE(pool.groups.size() == 2);
  CHECK(pool.is_mixed());
  CHECK(pool.groups[0].type == "fast");
  CHECK(pool.groups[0].workers == 3.0);
  CHECK(pool.groups[0].speed == 1.0);
  CHECK(pool.groups[0].price_per_hour == 0.4);
  CHECK(pool.groups[1].speed == 0.25);
  CHECK(pool.groups[1].workers > 1000.0);  // whether there are enough shows later

  config.provider.spot = true;
  CHECK(machine_pool(config, two_types()).groups[0].price_per_hour == 0.1);
  CHECK(machine_pool(config, two_types()).groups[1].price_per_hour == 0.1);  // is never spot
}

TEST_CASE("Machines without prices count a dollar each, and types that are all gone do not count") {
  MachineCatalogue catalogue = two_types();
  for (CatalogueEntry& entry : catalogue.entries) entry.on_demand = entry.spot = std::nullopt;
  for (const auto& group : machine_pool(rented(), catalogue).groups)
    CHECK(group.price_per_hour == 1.0);
  catalogue.entries[0].count = 0;
  const perfmodel::MachinePool pool = machine_pool(rented(), catalogue);
  REQUIRE(pool.groups.size() == 1);
  CHECK(pool.groups[0].type == "slow");
}

TEST_CASE("What is not an ordered list of types is not a mixed pool") {
  MachineCatalogue catalogue = two_types();
  SECTION("the cheapest are taken first") {
    catalogue.order = MachineCatalogue::Order::kCheapestFirst;
  }
  SECTION("a count is not known") {
    catalogue.entries[1].count = std::nullopt;
  }
  SECTION("hosts have no types") {
    catalogue.entries[0].type = "";
  }
  SECTION("cores are not known") {
    catalogue.entries[1].cores = 0.0;
  }
  SECTION("one of them has a GPU") {
    catalogue.entries[1].gpus = 1.0;
  }
  SECTION("there is one type") {
    catalogue.entries.pop_back();
  }
  CHECK_FALSE(machine_pool(rented(), catalogue).is_mixed());
}

TEST_CASE("A search begins with the room that there is, and modestly with what is rented") {
  MachineCatalogue catalogue = two_types();
  CHECK(room_for_workers(rented(), catalogue) == 5);
  catalogue.entries[0].count = 100;
  CHECK(room_for_workers(rented(), catalogue) == 8);
  catalogue.entries[0].count = std::nullopt;
  CHECK(room_for_workers(rented(), catalogue) == 8);
  const MachineCatalogue here{{{.type = {}, .cores = 32.0, .count = 32}}};
  CHECK(room_for_workers(JobConfig(), here) == 32);
}

}  // namespace scavenger::elastic
