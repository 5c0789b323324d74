#include "cloud_gcp/api/price_refresh.h"

#include <catch2/catch.hpp>

#include "cloud_gcp/pricing/price_text.h"
#include "cloud_gcp/pricing/prices.h"
#include "test/unit/cloud_gcp/fake_cloud.h"

namespace scavenger::gcp {
namespace {

using json = nlohmann::json;

json sku(const std::string& description, const std::string& usage, int nanos,
         const std::string& region) {
  const json price = {{"unitPrice", {{"currencyCode", "USD"}, {"units", "0"}, {"nanos", nanos}}}};
  return {{"description", description},
          {"category", {{"resourceFamily", "Compute"}, {"usageType", usage}}},
          {"serviceRegions", {region}},
          {"pricingInfo",
           json::array({{{"pricingExpression", {{"tieredRates", json::array({price})}}}}})}};
}

std::vector<json> sample_skus() {
  const std::string region = "us-central1";
  return {
      sku("N2 Instance Core running in Americas", "OnDemand", 40'000'000, region),
      sku("N2 Instance Ram running in Americas", "OnDemand", 5'000'000, region),
      sku("Spot Preemptible N2 Instance Core running in Americas", "Preemptible", 10'000'000,
          region),
      sku("Spot Preemptible N2 Instance Ram running in Americas", "Preemptible", 1'000'000, region),
      sku("N2 Custom Instance Core running in Americas", "OnDemand", 900'000'000, region),
      sku("N2 Instance Core running in Americas", "Commit1Yr", 1, region),
      sku("E2 Instance Core running in Americas", "OnDemand", 7, region),  // and no memory
      sku("Nvidia Tesla T4 GPU running in Americas", "OnDemand", 300'000'000, region),
      sku("Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Americas", "Preemptible",
          100'000'000, region)};
}

}  // namespace

TEST_CASE("Prices that are found replace those of before, and the others stay") {
  const RefreshedPrices made = refresh_prices(gcp_price_text(), sample_skus(), "2026-11-22");
  CHECK(made.updated == 2);
  CHECK(made.kept > 500);
  const PriceCatalog fresh = PriceCatalog::parse(made.catalog, "fresh");
  const PriceCatalog& old = PriceCatalog::built_in();
  CHECK(fresh.as_of() == "2026-11-22");
  CHECK(fresh.per_hour("n2-standard-8", "us-central1", Provisioning::kOnDemand) ==
        Approx(8 * 0.04 + 32 * 0.005));
  CHECK(fresh.per_hour("n2-standard-8", "us-central1", Provisioning::kSpot) ==
        Approx(8 * 0.01 + 32 * 0.001));
  const AddedGpus gpu{"nvidia-tesla-t4", 1};
  CHECK(fresh.per_hour("n1-standard-4", "us-central1", Provisioning::kSpot, gpu) -
            fresh.per_hour("n1-standard-4", "us-central1", Provisioning::kSpot) ==
        Approx(0.1));
  for (const char* type : {"e2-standard-4", "c3-standard-8"})
    CHECK(fresh.per_hour(type, "us-central1", Provisioning::kSpot) ==
          old.per_hour(type, "us-central1", Provisioning::kSpot));
  CHECK(fresh.per_hour("n2-standard-8", "us-east1", Provisioning::kSpot) ==
        old.per_hour("n2-standard-8", "us-east1", Provisioning::kSpot));
}

TEST_CASE("A list without a single price makes no catalog") {
  CHECK_THROWS_AS(refresh_prices(gcp_price_text(), {}, "2026-11-22"), ProtocolError);
  CHECK_THROWS_AS(refresh_prices("{}", sample_skus(), "2026-11-22"), InputError);
  json broken = sample_skus().front();
  broken.erase("pricingInfo");
  CHECK_THROWS_AS(refresh_prices(gcp_price_text(), {broken}, "2026-11-22"), ProtocolError);
  for (const char* units : {"", "x", "-1", "1.5", "nan", "1000000", "99999999999999999999"}) {
    json odd = sample_skus().front();
    odd["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["unitPrice"]["units"] = units;
    CHECK_THROWS_AS(refresh_prices(gcp_price_text(), {odd}, "2026-11-22"), ProtocolError);
  }
}

TEST_CASE("Prices are read page by page") {
  asio::io_context io;
  json cloud = small_cloud();
  cloud["skus"] = sample_skus();
  cloud["page_size"] = 4;
  FakeCloud fake(io, cloud);
  ::setenv("SCAVENGER_GCP_TOKEN", "dev", 1);
  HttpClient http(io);
  const SteadyClock clock;
  const auto tokens = find_credentials({}, http, clock);
  CHECK(run(io, read_skus(http, *tokens, fake.endpoint())).size() == 9);
}

}  // namespace scavenger::gcp
