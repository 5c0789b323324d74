#include "cloud_gcp/pricing/price_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "runtime/base/error.h"

namespace scavenger::gcp {

TEST_CASE("A table of prices has the types that are sold in the region, or those that are named") {
  const PriceCatalog& catalog = PriceCatalog::built_in();
  const std::string all = price_table(catalog, "us-central1", {});
  CHECK_THAT(all, Catch::StartsWith("dollars an hour in us-central1, as of " + catalog.as_of()));
  CHECK(std::ranges::count(all, '\n') > 20);
  const std::vector<std::string> two = {"e2-standard-2", "n2-custom-8-16384"};
  const std::string named = price_table(catalog, "us-central1", two);
  CHECK(std::ranges::count(named, '\n') == 4);
  CHECK_THAT(named, Catch::Contains("0.06701") && Catch::Contains("n2-custom-8-16384"));
  const std::vector<std::string> unknown = {"e2-standard-3"};
  CHECK_THROWS_WITH(price_table(catalog, "us-central1", unknown), Catch::Contains("e2-standard-3"));
  CHECK_THROWS_WITH(price_table(catalog, "mars", {}), Catch::Contains("\"mars\""));
}

}  // namespace scavenger::gcp
