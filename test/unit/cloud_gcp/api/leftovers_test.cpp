#include "cloud_gcp/api/leftovers.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "cloud_gcp/api/identity.h"
#include "test/unit/cloud_gcp/fake_cloud.h"

namespace scavenger::gcp {

TEST_CASE("What jobs have left is found by its label, shown, and deleted; other VMs stay") {
  asio::io_context io;
  json cloud = small_cloud();
  cloud["faults"] = {{"reply_lost", 0.1}, {"error_before", 0.1}};
  FakeCloud fake(io, cloud);
  ::setenv("SCAVENGER_GCP_TOKEN", "dev", 1);
  HttpClient http(io);
  const SteadyClock clock;
  const auto tokens = find_credentials({}, http, clock);
  ComputeClient compute({fake.endpoint(), "demo"}, {}, http, *tokens, clock);
  RandomStream random(1, "test");
  const auto rent = [&](const std::string& name, const std::string& zone,
                        std::map<std::string, std::string> labels) {
    VmOrder order;
    order.name = name;
    order.zone = zone;
    order.machine_type = "e2-standard-2";
    order.labels = std::move(labels);
    REQUIRE(run(io, compute.insert(order, request_id(random))).outcome == Outcome::kDone);
  };
  rent(vm_name("job-1", "worker", 0, 7), "us-central1-a", vm_labels("job-1", "worker"));
  rent(vm_name("job-1", "worker", 1, 7), "us-central1-b", vm_labels("job-1", "worker"));
  rent(vm_name("job-2", "worker", 0, 7), "us-central1-b", vm_labels("job-2", "worker"));
  rent("somebody-elses", "us-central1-a", {{"owner", "somebody"}});
  const std::vector<std::string> zones = {"us-central1-a", "us-central1-b"};

  CHECK(run(io, find_job_vms(compute, zones, "")).size() == 3);
  const auto mine = run(io, find_job_vms(compute, zones, "job-1"));
  REQUIRE(mine.size() == 2);
  const std::string table =
      vm_table(mine, PriceCatalog::built_in(), mine[0].created_seconds + 90.0);
  CHECK_THAT(table, Catch::Contains("job-1") && Catch::Contains("worker 1") &&
                        Catch::Contains("RUNNING") && Catch::Contains("0.0402") &&
                        Catch::Contains("1 min 30 s"));

  int deleted = 0;
  bool has_ended = false;
  const std::function<void(const Instance&, const std::string&)> report =
      [&deleted](const Instance&, const std::string& problem) {
        deleted += problem.empty() ? 1 : 0;
      };
  asio::co_spawn(io, delete_vms(compute, mine, report),
                 [&has_ended](std::exception_ptr) { has_ended = true; });
  io.restart();
  while (!has_ended && io.run_one() > 0) {
  }
  CHECK(deleted == 2);
  CHECK(run(io, find_job_vms(compute, zones, "")).size() == 1);
  CHECK(run(io, compute.find("us-central1-a", "somebody-elses")).has_value());
}

}  // namespace scavenger::gcp
