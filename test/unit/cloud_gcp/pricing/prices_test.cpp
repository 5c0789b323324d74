#include "cloud_gcp/pricing/prices.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "runtime/base/error.h"
#include "test/unit/cloud_gcp/shared_data.h"

namespace scavenger::gcp {
namespace {

struct ListedPrice {
  std::string machine_type;
  std::string region;
  double on_demand = 0.0;
  double spot = 0.0;
};

std::vector<ListedPrice> read_list(const std::filesystem::path& path) {
  std::vector<ListedPrice> list;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);  // the header
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    if (cells.size() == 8 && cells[7].ends_with('\r')) cells[7].pop_back();
    if (cells.size() < 8 || cells[7].empty()) continue;  // no spot price
    list.push_back({cells[0], cells[5], std::stod(cells[6]), std::stod(cells[7])});
  }
  return list;
}

bool has_local_disks(const ListedPrice& listed) {
  return listed.machine_type.ends_with("-lssd");
}

}  // namespace

TEST_CASE("Unit prices give back every list price that is made of them") {
  const auto path = shared_file_or_skip("gcp_prices_us-central1_2026-07-30.csv");
  if (path.empty()) return;
  const PriceCatalog& catalog = PriceCatalog::built_in();
  REQUIRE(catalog.as_of() == "2026-07-30");
  std::size_t checked = 0;
  std::size_t left_out = 0;
  for (const ListedPrice& listed : read_list(path)) {
    if (has_local_disks(listed)) {
      ++left_out;
      CHECK_THROWS_AS(catalog.shape(listed.machine_type), ConfigError);
      continue;
    }
    INFO(listed.machine_type);
    CHECK(catalog.per_hour(listed.machine_type, listed.region, Provisioning::kOnDemand) ==
          Approx(listed.on_demand).epsilon(1e-6));
    CHECK(catalog.per_hour(listed.machine_type, listed.region, Provisioning::kSpot) ==
          Approx(listed.spot).epsilon(1e-6));
    ++checked;
  }
  CHECK(checked == 199);
  CHECK(left_out == 6);
}

TEST_CASE("Prices of other regions are those of their lists") {
  const auto path = shared_file_or_skip("gcp_prices_all_2026-07-30.csv");
  if (path.empty()) return;
  const PriceCatalog& catalog = PriceCatalog::built_in();
  CHECK(catalog.regions().size() == 43);
  std::size_t checked = 0;
  std::size_t wrong = 0;
  for (const ListedPrice& listed : read_list(path)) {
    if (!listed.machine_type.starts_with("e2-standard") && !listed.machine_type.starts_with("n2d-"))
      continue;
    ++checked;
    const double spot = catalog.per_hour(listed.machine_type, listed.region, Provisioning::kSpot);
    if (spot != Approx(listed.spot).epsilon(1e-6)) ++wrong;
  }
  CHECK(checked > 1000);
  CHECK(wrong == 0);
}

TEST_CASE(
    "Custom machine types cost five percent more than their parts, and those of E2 nothing more") {
  const PriceCatalog& catalog = PriceCatalog::built_in();
  const auto on_demand = [&catalog](const std::string& type) {
    return catalog.per_hour(type, "us-central1", Provisioning::kOnDemand);
  };
  CHECK(on_demand("custom-4-16384") == Approx(4 * 0.03319155 + 16 * 0.00444885));
  CHECK(on_demand("n2-custom-8-32768") == Approx(1.05 * on_demand("n2-standard-8")));
  CHECK(on_demand("e2-custom-4-16384") == Approx(on_demand("e2-standard-4")));
  CHECK(on_demand("e2-custom-small-2048") == Approx(on_demand("e2-small")));
}

TEST_CASE("A name that is no machine type is refused with what is wrong") {
  const PriceCatalog& catalog = PriceCatalog::built_in();
  const auto price = [&catalog](const std::string& type, const std::string& region) {
    return catalog.per_hour(type, region, Provisioning::kSpot);
  };
  CHECK_THROWS_WITH(price("e2-standard-5", "us-central1"),
                    Catch::Contains("did you mean \"e2-standard-"));
  CHECK_THROWS_WITH(price("e2-standard-4", "us-centrl1"), Catch::Contains("\"us-central1\"?"));
  CHECK_THROWS_WITH(price("n2-custom-8-1000", "us-central1"), Catch::Contains("256"));
  CHECK_THROWS_WITH(price("n2-custom-3-4096", "us-central1"), Catch::Contains("even"));
  CHECK_THROWS_WITH(price("n2-custom-8-16384-ext", "us-central1"), Catch::Contains("extended"));
  CHECK_THROWS_WITH(price("c3-custom-8-16384", "us-central1"),
                    Catch::Contains("none for c3-custom"));
}

TEST_CASE("GPUs that are added to a machine are added to its price") {
  const PriceCatalog& catalog = PriceCatalog::built_in();
  const double bare = catalog.per_hour("n1-standard-4", "us-central1", Provisioning::kOnDemand);
  const double with_gpus = catalog.per_hour("n1-standard-4", "us-central1", Provisioning::kOnDemand,
                                            {"nvidia-tesla-t4", 2});
  CHECK(with_gpus - bare == Approx(0.70));
  CHECK_THROWS_WITH(
      catalog.per_hour("n1-standard-4", "us-central1", Provisioning::kSpot, {"nvidia-tesla-t5", 1}),
      Catch::Contains("nvidia-tesla-t4"));
}

TEST_CASE("A VM is charged by the second after its first minute") {
  CHECK(vm_cost(3600.0, 1.0) == Approx(60.0));
  CHECK(vm_cost(3600.0, 60.0) == Approx(60.0));
  CHECK(vm_cost(3600.0, 60.2) == Approx(61.0));
  CHECK(vm_cost(0.134, 7200.0) == Approx(0.268));
}

TEST_CASE("A text that is no catalog is refused by name") {
  CHECK_THROWS_WITH(PriceCatalog::parse("{}", "prices.json"), Catch::Contains("prices.json"));
  CHECK_THROWS_AS(PriceCatalog::parse("not json", "prices.json"), InputError);
  for (const char* price : {"-0.01", "1e9"})
    CHECK_THROWS_WITH(
        PriceCatalog::parse(fmt::format(R"({{"as_of":"x","custom_factors":{{}},"machine_types":{{}},
          "regions":{{"r":{{"series":{{"n2":[[{0},0,0],[0,0,0]]}},"gpus":{{}}}}}}}})",
                                        price),
                            "prices.json"),
        Catch::Contains("is no amount"));
}

}  // namespace scavenger::gcp
