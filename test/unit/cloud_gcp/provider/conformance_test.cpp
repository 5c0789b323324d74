#include "test/unit/runtime/provider/conformance.h"

#include <cstdlib>

#include "cloud_gcp/provider/gcp_provider.h"
#include "runtime/base/clock.h"
#include "test/unit/cloud_gcp/fake_cloud.h"
#include "test/unit/cloud_gcp/provider/rented_job.h"

namespace scavenger::gcp {

TEST_CASE("gcp: the contract of providers") {
  ::setenv("SCAVENGER_GCP_TOKEN", "dev", 1);
  asio::io_context fake_io;
  FakeCloud fake(fake_io, small_cloud());
  TemporaryFolder folder;
  const SteadyClock clock;
  check_conformance([&](asio::io_context& io) {
    return std::make_unique<GcpProvider>(io, quick_settings(fake.endpoint(), 200.0), "job",
                                         folder.path(), clock);
  });
  const json ledger = fake.ledger();
  CHECK(ledger["vms"].size() >= 2);
  for (const json& vm : ledger["vms"]) CHECK_FALSE(vm["gone"].is_null());
}

TEST_CASE(
    "gcp: a machine says what it is, what it costs, and that it starts its worker by itself") {
  ::setenv("SCAVENGER_GCP_TOKEN", "dev", 1);
  asio::io_context fake_io;
  FakeCloud fake(fake_io, small_cloud());
  TemporaryFolder folder;
  const SteadyClock clock;
  ProviderTrial trial([&](asio::io_context& io) {
    return std::make_unique<GcpProvider>(io, quick_settings(fake.endpoint(), 200.0), "job",
                                         folder.path(), clock);
  });
  CHECK(trial.provider().controller_address() == "127.0.0.1");
  const Machine machine = trial.ready(1, 5, true);
  CHECK(machine.starts_worker);
  CHECK(machine.spot);
  CHECK(machine.type == "n2d-standard-2");  // the cheaper of the two on spot
  CHECK(machine.zone == "us-central1-a");
  CHECK(machine.cores == 2);
  CHECK(machine.price.per_hour == Approx(0.024456));
  CHECK(machine.price.minimum_seconds == 60.0);
  CHECK_THAT(machine.name, Catch::Contains("-worker-5-"));
  CHECK(trial.provider().price("e2-standard-2", false)->per_hour == Approx(0.06701142));
  CHECK_FALSE(trial.provider().price("e9-standard-2", false).has_value());
}

TEST_CASE("gcp: what cannot be had is refused before it is asked for") {
  ::setenv("SCAVENGER_GCP_TOKEN", "dev", 1);
  asio::io_context io;
  TemporaryFolder folder;
  const SteadyClock clock;
  GcpSettings settings = quick_settings("http://localhost:1", 1.0);
  settings.machine_types = {"e2-standard-3"};
  CHECK_THROWS_WITH(GcpProvider(io, settings, "job", folder.path(), clock),
                    Catch::Contains("e2-standard-3"));
}

}  // namespace scavenger::gcp
