// What a job does before and when it rents its first VMs: what can never be had is refused before
// anything is rented, and the others are asked for at once.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>

#include "runtime/base/log.h"
#include "test/unit/cloud_gcp/fake_cloud.h"
#include "test/unit/cloud_gcp/provider/rented_job.h"

namespace scavenger::gcp {
namespace {

constexpr double kStartTimeScale = 600.0;

struct Run {
  RentedJob::End end = RentedJob::End::kNone;
  std::string message;
  int rented = 0;
  std::vector<std::string> left;
  json ledger;
};

// A job of so many workers on spot, from its start to its end.
Run run_job(const json& cloud, unsigned workers) {
  ::setenv("SCAVENGER_GCP_TOKEN", "dev", 1);
  start_log("test", LogLevel::kError);
  asio::io_context io;
  FakeCloud fake(io, cloud);
  TemporaryFolder folder;
  RentedJobPlan plan;
  plan.name = "job";
  plan.workers = workers;
  plan.time_scale = kStartTimeScale;
  plan.seconds = 1.0;
  RentedJob job(io, quick_settings(fake.endpoint(), kStartTimeScale), plan, folder.path());
  run_to_end(io, job);
  CHECK(job.breaches() == std::vector<std::string>{});
  return {job.end(), job.message(), job.rented(), job.left(), fake.ledger()};
}

json quick_cloud() {
  json cloud = small_cloud();
  cloud["time_scale"] = kStartTimeScale;
  return cloud;
}

json cloud_without(const std::string& permission) {
  json cloud = quick_cloud();
  json& granted = cloud["accounts"]["developer@demo"]["permissions"];
  for (const char* name :
       {"compute.instances.create", "compute.instances.delete", "compute.instances.get",
        "compute.instances.list", "compute.instances.setMetadata",
        "compute.instances.getGuestAttributes", "compute.machineTypes.get", "compute.regions.get",
        "compute.zoneOperations.get"})
    if (permission != name) granted.push_back(name);
  return cloud;
}

}  // namespace

TEST_CASE("Quotas that have no room for a job's workers are told before anything is rented") {
  json cloud = quick_cloud();
  cloud["quotas"] = {{"us-central1", {{"CPUS", 2}, {"N2D_CPUS", 2}}}};
  const Run refused = run_job(cloud, 3);
  CHECK(refused.end == RentedJob::End::kRefused);
  CHECK_THAT(
      refused.message,
      Catch::Contains("3 workers can never be had, 2 at most") &&
          Catch::Contains("region us-central1 has a limit of 2 CPUS, of which 0 are in use") &&
          Catch::Contains("https://console.cloud.google.com/iam-admin/quotas?project=demo"));
  CHECK(refused.ledger["asked"].empty());
  CHECK(run_job(cloud, 2).end == RentedJob::End::kTarget);
}

TEST_CASE("A machine type that no zone has is told before anything is rented") {
  json cloud = quick_cloud();
  cloud["zones"] = {{"us-central1-a", {{"c3-standard-4", 9}}}, {"us-central1-b", json::object()}};
  const Run refused = run_job(cloud, 1);
  CHECK(refused.end == RentedJob::End::kRefused);
  CHECK_THAT(refused.message, Catch::Contains("no zone has such a machine") &&
                                  Catch::Contains("n2d-standard-2 in us-central1-a") &&
                                  Catch::Contains("provider section"));
  CHECK(refused.ledger["asked"].empty());

  cloud["zones"]["us-central1-b"] = {{"e2-standard-2", 9}};  // one has it: nobody asks the other
  const Run had = run_job(cloud, 2);
  CHECK(had.end == RentedJob::End::kTarget);
  for (const json& vm : had.ledger["vms"]) CHECK(vm["zone"] == "us-central1-b");
}

TEST_CASE("A machine type that is not what its price is for is refused") {
  json cloud = quick_cloud();
  cloud["machine_types"]["n2d-standard-2"] = {4, 16};
  const Run refused = run_job(cloud, 1);
  CHECK(refused.end == RentedJob::End::kRefused);
  CHECK_THAT(refused.message, Catch::Contains("n2d-standard-2 has 4 vCPUs and 16 GiB") &&
                                  Catch::Contains("has 2 vCPUs and 8 GiB") &&
                                  Catch::Contains("prices --refresh"));
  CHECK(refused.ledger["asked"].empty());
}

TEST_CASE("The first workers of a job are asked for with one request, those alone with one each") {
  const Run several = run_job(quick_cloud(), 4);
  CHECK(several.end == RentedJob::End::kTarget);
  CHECK(several.rented == 4);
  REQUIRE(several.ledger["asked"].size() == 1);
  CHECK(several.ledger["asked"].begin().value() == 4);
  CHECK(several.ledger["violations"] == json::array());

  const Run alone = run_job(quick_cloud(), 1);
  REQUIRE(alone.ledger["asked"].size() == 1);
  CHECK(alone.ledger["asked"].begin().value() == 1);
}

TEST_CASE("Of several workers those that a zone has no room for are rented elsewhere") {
  json cloud = quick_cloud();
  cloud["zones"]["us-central1-a"] = {{"*", 1}};
  const Run run = run_job(cloud, 4);
  CHECK(run.end == RentedJob::End::kTarget);
  CHECK(run.rented == 4);
  int in_a = 0;
  for (const json& vm : run.ledger["vms"]) in_a += vm["zone"] == "us-central1-a" ? 1 : 0;
  CHECK(in_a >= 1);
  CHECK(in_a < 4);
}

TEST_CASE("Each missing permission is named, with what to do") {
  const std::string permission = GENERATE(
      as<std::string>(), "compute.instances.create", "compute.instances.list",
      "compute.machineTypes.get", "compute.regions.get", "compute.instances.getGuestAttributes",
      "compute.instances.get", "compute.zoneOperations.get");
  const unsigned workers = GENERATE(1U, 2U);
  CAPTURE(permission, workers);
  const Run refused = run_job(cloud_without(permission), workers);
  CHECK(refused.end == RentedJob::End::kRefused);
  CHECK_THAT(refused.message,
             Catch::Contains(permission) && Catch::Contains("give this identity a role"));
  for (const json& vm : refused.ledger["vms"]) CHECK_FALSE(vm["gone"].is_null());
}

TEST_CASE("VMs that may not be deleted are named at the end") {
  const Run run = run_job(cloud_without("compute.instances.delete"), 2);
  CHECK(run.end == RentedJob::End::kTarget);
  CHECK(run.left.size() == 2);
}

}  // namespace scavenger::gcp
