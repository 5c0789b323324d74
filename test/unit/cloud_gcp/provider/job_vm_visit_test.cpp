#include "cloud_gcp/provider/job_vm_visit.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>

#include "cloud_gcp/api/identity.h"
#include "runtime/base/error.h"
#include "test/unit/cloud_gcp/fake_cloud.h"
#include "test/unit/cloud_gcp/provider/rented_job.h"

namespace scavenger::gcp {
namespace {

const std::filesystem::path kConfigs = SCAVENGER_CONFIGS;

}  // namespace

TEST_CASE("gcp: the VMs of jobs are shown, and deleted only if that is allowed") {
  ::setenv("SCAVENGER_GCP_TOKEN", "dev", 1);
  asio::io_context fake_io;
  FakeCloud fake(fake_io, small_cloud());
  const GcpSettings settings = quick_settings(fake.endpoint(), 200.0);
  std::ostringstream out;
  CHECK(visit_job_vms(settings, {}, out));
  CHECK_THAT(out.str(), Catch::Contains("there are no VMs"));

  asio::io_context io;
  HttpClient http(io);
  const SteadyClock clock;
  const auto tokens = find_credentials({}, http, clock);
  ComputeClient client(settings.place, settings.patience, http, *tokens, clock);
  RandomStream random(1, "test");
  VmOrder order;
  order.name = "job-1-worker-0";
  order.zone = "us-central1-a";
  order.machine_type = "e2-standard-2";
  order.labels = vm_labels("job-1", "worker");
  REQUIRE(run(io, client.insert(order, request_id(random))).outcome == Outcome::kDone);

  std::size_t asked = 0;
  const auto answer = [&](bool is_allowed) {
    return MachineVisit{.job = {}, .may_delete = [&asked, is_allowed](std::size_t count) {
                          asked = count;
                          return is_allowed;
                        }};
  };
  out.str("");
  CHECK(visit_job_vms(settings, {}, out));
  CHECK_THAT(out.str(), Catch::Contains("job-1-worker-0") && !Catch::Contains("deleted"));
  CHECK_FALSE(visit_job_vms(settings, answer(false), out));
  CHECK(asked == 1);
  CHECK_THAT(out.str(), !Catch::Contains("deleted"));
  CHECK(visit_job_vms(settings, answer(true), out));
  CHECK_THAT(out.str(), Catch::Contains("deleted job-1-worker-0"));
}

TEST_CASE("gcp: only a job on Compute Engine has settings of it") {
  CHECK(settings_of_job(kConfigs / "gcp_spot.json").zones.size() == 3);
  CHECK_THROWS_WITH(settings_of_job(kConfigs / "synthetic_mlp.json"),
                    Catch::Contains("no machines on Compute Engine"));
}

}  // namespace scavenger::gcp
