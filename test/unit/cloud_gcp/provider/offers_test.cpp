#include "cloud_gcp/provider/offers.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "runtime/http/backoff.h"

namespace scavenger::gcp {
namespace {

std::vector<Offer> two_regions() {
  return {{"us-central1-a", "e2-standard-4", 0.08},
          {"us-central1-b", "e2-standard-4", 0.08},
          {"us-east1-b", "e2-standard-4", 0.09}};
}

CloudFault fault(FaultKind kind) {
  CloudFault made;
  made.kind = kind;
  return made;
}

}  // namespace

TEST_CASE("The cheapest offer comes first, and of equal ones the user's order counts") {
  const std::vector<std::string> zones = {"us-central1-f", "us-central1-a"};
  const std::vector<std::string> types = {"e2-standard-8", "n2d-standard-8"};
  const auto spot = price_offers(PriceCatalog::built_in(), zones, types, Provisioning::kSpot, {});
  REQUIRE(spot.size() == 4);
  CHECK(spot[0].machine_type == "n2d-standard-8");  // 0.098 against 0.161
  CHECK(spot[0].zone == "us-central1-f");
  CHECK(spot[1].zone == "us-central1-a");
  const auto on_demand =
      price_offers(PriceCatalog::built_in(), zones, types, Provisioning::kOnDemand, {});
  CHECK(on_demand[0].machine_type == "e2-standard-8");  // 0.268 against 0.338
  const std::vector<std::string> unknown = {"e9-standard-8"};
  CHECK_THROWS_AS(price_offers(PriceCatalog::built_in(), zones, unknown, Provisioning::kSpot, {}),
                  ConfigError);
}

TEST_CASE(
    "After a stock-out the next offer is taken, and the zone is asked again when it has cooled "
    "down") {
  OfferChoice choice(two_regions(), {.first_seconds = 60, .longest_seconds = 200});
  const Offer first = choice.next(0.0, nullptr).value();
  CHECK(first.zone == "us-central1-a");
  choice.refused(first, fault(FaultKind::kStockOut), 0.0);
  CHECK(choice.next(0.0, nullptr)->zone == "us-central1-b");
  CHECK(choice.next(60.0, nullptr)->zone == "us-central1-a");
  choice.refused(first, fault(FaultKind::kStockOut), 60.0);
  CHECK(choice.next(179.0, nullptr)->zone == "us-central1-b");  // twice as long
  CHECK(choice.next(180.0, nullptr)->zone == "us-central1-a");
  choice.refused(first, fault(FaultKind::kStockOut), 180.0);
  CHECK(choice.next(380.0, nullptr)->zone == "us-central1-a");  // and no longer than the longest
  choice.granted(first);
  CHECK(choice.next(0.0, nullptr)->zone == "us-central1-a");
}

TEST_CASE("A full quota closes its region, or all, and capacity only its zone and type") {
  OfferChoice choice(two_regions(), {});
  choice.refused(two_regions()[0], fault(FaultKind::kQuota), 0.0);
  CHECK(choice.next(0.0, nullptr)->zone == "us-east1-b");
  CloudFault global = fault(FaultKind::kQuota);
  global.is_global = true;
  global.subject = "GPUS_ALL_REGIONS";
  choice.refused(two_regions()[2], global, 0.0);
  CHECK_FALSE(choice.next(0.0, nullptr).has_value());
  CHECK(choice.next_time().value() == 60.0);  // of the zone that was refused once
  CHECK_THAT(choice.story(), Catch::Contains("us-east1-b e2-standard-4: quota GPUS_ALL_REGIONS"));
}

TEST_CASE("What is wrong stays wrong") {
  OfferChoice choice({two_regions()[0]}, {});
  choice.refused(two_regions()[0], fault(FaultKind::kInvalid), 0.0);
  CHECK_FALSE(choice.next(1e9, nullptr).has_value());
  CHECK_FALSE(choice.next_time().has_value());
}

TEST_CASE("Waits grow to their limit, and spread") {
  RandomStream stream(1, "backoff");
  Backoff backoff({.initial_seconds = 1.0, .factor = 2.0, .longest_seconds = 10.0});
  double expected = 1.0;
  double spread = 0.0;
  for (int i = 0; i < 20; ++i) {
    const double wait = backoff.next_seconds(stream);
    CHECK(wait >= expected / 2);
    CHECK(wait <= expected);
    spread = std::max(spread, wait / expected);
    expected = std::min(expected * 2, 10.0);
  }
  CHECK(spread > 0.8);
}

TEST_CASE("Of zones with about the same price, the one is asked where spot VMs live longest") {
  OfferChoice choice(two_regions(), {});
  OfferLives lives;
  CHECK(choice.next(0.0, &lives)->zone == "us-central1-a");  // the user's order
  for (int i = 0; i < 5; ++i) lives.add(two_regions()[0], 3600.0, true);
  CHECK(lives.mean_life_seconds(two_regions()[0]) < lives.mean_life_seconds(two_regions()[1]));
  CHECK(choice.next(0.0, &lives)->zone == "us-central1-b");
  CHECK(choice.next(0.0, nullptr)->zone == "us-central1-a");  // nothing is taken away on demand
  // VMs that were returned have lived, too.
  for (int i = 0; i < 5; ++i) lives.add(two_regions()[1], 600.0, true);
  for (int i = 0; i < 5; ++i) lives.add(two_regions()[0], 36000.0, false);
  CHECK(choice.next(0.0, &lives)->zone == "us-central1-a");
  // A higher price is paid only where lives are as short as starts.
  for (const Offer& offer : {two_regions()[0], two_regions()[1]})
    for (int i = 0; i < 4000; ++i) lives.add(offer, 300.0, true);
  for (int i = 0; i < 20; ++i) lives.add(two_regions()[2], 7200.0, false);
  CHECK(choice.next(0.0, &lives)->zone == "us-east1-b");
}

}  // namespace scavenger::gcp
