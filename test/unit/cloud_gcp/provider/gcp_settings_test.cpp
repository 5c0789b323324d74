#include "cloud_gcp/provider/gcp_settings.h"

#include <catch2/catch.hpp>

#include "cloud_gcp/provider/gcp_catalogue.h"
#include "runtime/base/error.h"
#include "runtime/config/config_file.h"

namespace scavenger::gcp {
namespace {

const std::filesystem::path kConfig = std::filesystem::path(SCAVENGER_CONFIGS) / "gcp_spot.json";

GcpSettings settings_with(std::vector<std::string> overrides) {
  return gcp_settings(load_job_config(kConfig, overrides, DataFiles::kNotChecked).provider);
}

}  // namespace

TEST_CASE("The configuration that we ship has settings, and its machines have prices") {
  const GcpSettings settings = settings_with({});
  CHECK(settings.zones.size() == 3);
  CHECK(settings.place.endpoint == "https://compute.googleapis.com");
  CHECK(settings.place.project.empty());
  CHECK(settings.max_run_seconds == 14400.0);
  CHECK(settings.gpus.count == 0);
  const auto offers = price_offers(price_catalog(settings), settings.zones, settings.machine_types,
                                   Provisioning::kSpot, settings.gpus);
  CHECK(offers.size() == 6);
  CHECK(offers.front().machine_type == "n2d-standard-2");
}

TEST_CASE("The catalogue has each machine type in each zone, with its shape and both prices") {
  const GcpSettings settings = settings_with({});
  const MachineCatalogue catalogue = gcp_catalogue(settings, price_catalog(settings));
  REQUIRE(catalogue.entries.size() == 6);
  CHECK_FALSE(count_of(catalogue));
  const CatalogueEntry& first = catalogue.entries.front();
  CHECK(first.zone == settings.zones.front());
  CHECK(first.type == settings.machine_types.front());
  CHECK(first.cores == 2.0);
  CHECK(first.memory_gib == 8.0);
  CHECK(first.gpus == 0.0);
  // A request without a type gets the cheapest.
  const auto offers = price_offers(price_catalog(settings), settings.zones, settings.machine_types,
                                   Provisioning::kSpot, settings.gpus);
  CHECK(price_of(catalogue, "", true)->per_hour == offers.front().dollars_per_hour);
  CHECK(price_of(catalogue, "", true)->minimum_seconds == 60.0);
  CHECK(price_of(catalogue, "", true)->per_hour < price_of(catalogue, "", false)->per_hour);
  CHECK(price_of(catalogue, "", true)->source == "catalog of 2026-07-30");

  GcpSettings with_gpus =
      settings_with({"provider.machine_types=[\"n1-standard-4\"]",
                     "provider.gpus.type=nvidia-tesla-t4", "provider.gpus.count=2"});
  const MachineCatalogue gpus = gcp_catalogue(with_gpus, price_catalog(with_gpus));
  CHECK(gpus.entries.front().gpus == 2.0);
  CHECK(gpus.entries.front().cores == 4.0);
}

TEST_CASE("Every key of the section reaches the settings") {
  const GcpSettings settings = settings_with(
      {"provider.project=p1", "provider.gpus.type=nvidia-tesla-t4", "provider.gpus.count=2",
       "provider.disk_gib=50", "provider.disk_type=pd-ssd",
       "provider.image=projects/p/global/images/i", "provider.network=global/networks/n",
       "provider.subnetwork=regions/r/subnetworks/s", "provider.external_address=true",
       "provider.service_account=w@p", "provider.key_file=/k.json", "provider.self_signed=true",
       "provider.endpoint=https://e", "provider.controller_address=10.0.0.2",
       "provider.preemption_notice_seconds=120", "provider.wait_seconds=7",
       "provider.watch_seconds=3", "provider.cool_down_seconds=11",
       "provider.programs=gs://b/o.tar.gz"});
  CHECK(settings.place.project == "p1");
  CHECK(settings.gpus == AddedGpus{"nvidia-tesla-t4", 2});
  CHECK(settings.disk == DiskOrder{"projects/p/global/images/i", "pd-ssd", 50});
  CHECK(settings.network == NetworkOrder{"global/networks/n", "regions/r/subnetworks/s", true});
  CHECK(settings.service_account == "w@p");
  CHECK(settings.credentials.key_file == "/k.json");
  CHECK(settings.credentials.self_signed);
  CHECK(settings.place.endpoint == "https://e");
  CHECK(settings.controller_address == "10.0.0.2");
  CHECK(settings.preemption_notice_seconds == 120.0);
  CHECK(settings.wait_seconds == 7.0);
  CHECK(settings.watch_seconds == 3.0);
  CHECK(settings.cool_down.first_seconds == 11.0);
  CHECK(settings.started.programs == "gs://b/o.tar.gz");
}

TEST_CASE("What is no zone, or no place for programs, is refused with an example") {
  CHECK_THROWS_WITH(settings_with({"provider.zones=[\"us-central1\"]"}),
                    Catch::Contains("us-central1-a"));
  CHECK_THROWS_WITH(settings_with({"provider.programs=bin"}),
                    Catch::Contains("gs://BUCKET/OBJECT"));
  CHECK_THROWS_AS(settings_with({"provider.max_run_seconds=5"}), ConfigError);
  GcpSettings settings = settings_with({});
  settings.prices = kConfig;
  CHECK_THROWS_WITH(price_catalog(settings), Catch::Contains("no price catalog"));
}

}  // namespace scavenger::gcp
