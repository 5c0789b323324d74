#include "cloud_gcp/api/compute_json.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"

namespace scavenger::gcp {
namespace {

VmOrder sample_order() {
  VmOrder order;
  order.name = "mlp-1-worker-0-a1";
  order.zone = "us-central1-a";
  order.machine_type = "e2-standard-4";
  order.labels = {{"scavenger-job", "mlp-1"}};
  order.metadata = {{"startup-script", "#!/bin/bash\nexit 0\n"}};
  return order;
}

}  // namespace

TEST_CASE(
    "A spot VM is ordered to be deleted when it is taken, and in any case after its longest life") {
  VmOrder order = sample_order();
  order.max_run_seconds = 90000;
  order.preemption_notice_seconds = 120;
  const json body = insert_body(order);
  CHECK(body["name"] == "mlp-1-worker-0-a1");
  CHECK(body["machineType"] == "zones/us-central1-a/machineTypes/e2-standard-4");
  const json scheduling = {{"provisioningModel", "SPOT"},
                           {"instanceTerminationAction", "DELETE"},
                           {"onHostMaintenance", "TERMINATE"},
                           {"automaticRestart", false},
                           {"maxRunDuration", {{"seconds", "90000"}}},
                           {"preemptionNoticeDuration", {{"seconds", "120"}}}};
  CHECK(body["scheduling"] == scheduling);
  const json& parameters = body["disks"][0]["initializeParams"];
  CHECK(parameters["diskSizeGb"] == "20");  // 64-bit integers are strings
  CHECK(parameters["diskType"] == "zones/us-central1-a/diskTypes/pd-balanced");
  CHECK(body["disks"][0]["autoDelete"] == true);
  CHECK_FALSE(body["networkInterfaces"][0].contains("accessConfigs"));
}

TEST_CASE("A VM on demand is moved rather than ended, unless it has GPUs, and gets no notice") {
  VmOrder order = sample_order();
  order.provisioning = Provisioning::kOnDemand;
  order.preemption_notice_seconds = 120;
  CHECK(insert_body(order)["scheduling"]["onHostMaintenance"] == "MIGRATE");
  CHECK_FALSE(insert_body(order)["scheduling"].contains("preemptionNoticeDuration"));
  order.gpus = {"nvidia-tesla-t4", 2};
  const json body = insert_body(order);
  CHECK(body["scheduling"]["onHostMaintenance"] == "TERMINATE");
  CHECK(body["guestAccelerators"][0]["acceleratorType"] ==
        "zones/us-central1-a/acceleratorTypes/nvidia-tesla-t4");
  CHECK(body["guestAccelerators"][0]["acceleratorCount"] == 2);
}

TEST_CASE("VMs of one request have names of their own, and name their types without paths") {
  VmOrder order = sample_order();
  order.gpus = {"nvidia-tesla-t4", 2};
  const std::vector<std::string> names = {"mlp-1-worker-0-a1", "mlp-1-worker-1-b2"};
  const json body = bulk_insert_body(order, names);
  CHECK(body["count"] == "2");
  CHECK(body["minCount"] == "1");
  const json named = {{"mlp-1-worker-0-a1", json::object()}, {"mlp-1-worker-1-b2", json::object()}};
  CHECK(body["perInstanceProperties"] == named);
  const json& properties = body["instanceProperties"];
  CHECK(properties["machineType"] == "e2-standard-4");
  CHECK(properties["disks"][0]["initializeParams"]["diskType"] == "pd-balanced");
  CHECK(properties["guestAccelerators"][0]["acceleratorType"] == "nvidia-tesla-t4");
  CHECK_FALSE(properties.contains("name"));
  for (const char* same : {"scheduling", "labels", "metadata", "networkInterfaces"})
    CHECK(properties[same] == insert_body(order)[same]);
}

TEST_CASE("A machine type says what it has, and a region what it allows") {
  const MachineType type = parse_machine_type(json::parse(R"({
    "name": "g2-standard-8", "guestCpus": 8, "memoryMb": 32768, "isSharedCpu": false,
    "accelerators": [{"guestAcceleratorType": "nvidia-l4", "guestAcceleratorCount": 1}]})"));
  CHECK(type.vcpus == 8.0);
  CHECK(type.memory_gib == 32.0);
  CHECK(type.gpus == AddedGpus{"nvidia-l4", 1});
  CHECK_THROWS_AS(parse_machine_type(json::parse(R"({"name": "g2-standard-8"})")), ProtocolError);

  const auto quotas = parse_quotas(json::parse(
      R"({"name": "us-central1", "quotas": [{"metric": "CPUS", "limit": 24.0, "usage": 2}]})"));
  REQUIRE(quotas.size() == 1);
  CHECK(quotas[0].metric == "CPUS");
  CHECK(quotas[0].limit == 24.0);
  CHECK(quotas[0].usage == 2.0);
  CHECK(parse_quotas(json::parse(R"({"name": "us-central1"})")).empty());
  CHECK_THROWS_AS(parse_quotas(json::parse(R"({"quotas": [{"metric": "CPUS"}]})")), ProtocolError);
}

TEST_CASE("A VM is charged from its start, whatever clocks the cloud and we have") {
  Instance vm;
  vm.created_seconds = 1e9;
  vm.started_seconds = 1e9 + 20.0;
  CHECK(charged_seconds(100.0, 125.0, vm) == Approx(5.0));
  CHECK(charged_seconds(100.0, 110.0, vm) == 0.0);
  vm.started_seconds = 0.0;  // not told: all the time, at most
  CHECK(charged_seconds(100.0, 125.0, vm) == Approx(25.0));
}

TEST_CASE("A VM is read from its reply") {
  const Instance vm = parse_instance(json::parse(R"({
    "name": "mlp-1-worker-0-a1", "status": "STAGING",
    "zone": "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a",
    "machineType": "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a/machineTypes/e2-standard-4",
    "creationTimestamp": "2019-03-25T12:22:36.614-07:00",
    "labels": {"scavenger-job": "mlp-1"},
    "scheduling": {"provisioningModel": "SPOT"},
    "networkInterfaces": [{"networkIP": "10.128.0.7"}]})"));
  CHECK(vm.zone == "us-central1-a");
  CHECK(vm.machine_type == "e2-standard-4");
  CHECK(vm.state == VmState::kComing);
  CHECK(vm.is_spot);
  CHECK(vm.internal_address == "10.128.0.7");
  CHECK(vm.created_seconds == Approx(1553541756.614).epsilon(1e-12));
}

TEST_CASE("Each status of a VM is one of four states") {
  const auto state = [](const char* status) {
    return parse_instance({{"name", "a"},
                           {"status", status},
                           {"zone", "z"},
                           {"machineType", "m"},
                           {"creationTimestamp", "2026-01-01T00:00:00Z"}})
        .state;
  };
  for (const char* status : {"PENDING", "PROVISIONING", "STAGING", "REPAIRING"})
    CHECK(state(status) == VmState::kComing);
  CHECK(state("RUNNING") == VmState::kRunning);
  for (const char* status : {"STOPPING", "PENDING_STOP", "SUSPENDING", "DEPROVISIONING"})
    CHECK(state(status) == VmState::kLeaving);
  for (const char* status : {"TERMINATED", "STOPPED", "SUSPENDED"})
    CHECK(state(status) == VmState::kStopped);
}

TEST_CASE("Times of RFC 3339 are read with their zone and fraction, and others are refused") {
  CHECK(parse_rfc3339("1970-01-02T00:00:00Z") == 86400.0);
  CHECK(parse_rfc3339("2000-02-29T23:59:59.5+01:00") == Approx(951865199.5).epsilon(1e-12));
  for (const char* text :
       {"", "yesterday", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00+1"})
    CHECK_THROWS_AS(parse_rfc3339(text), ProtocolError);
}

TEST_CASE("An operation is pending, done, or done with a failure") {
  const json running = {{"name", "operation-1"},
                        {"status", "RUNNING"},
                        {"operationType", "insert"},
                        {"targetLink", "https://x/zones/z/instances/vm-1"},
                        {"clientOperationId", "id"}};
  CHECK_FALSE(parse_operation(running).is_done);
  CHECK(parse_operation(running).target == "vm-1");
  CHECK(parse_operation(running).request_id == "id");
  json failed = running;
  failed["status"] = "DONE";
  failed["error"]["errors"] = json::array({{{"code", "QUOTA_EXCEEDED"}}});
  CHECK(parse_operation(failed).is_done);
  CHECK(parse_operation(failed).has_failed);
}

TEST_CASE("Pages are read, and what is missing in them is named") {
  CHECK(parse_instance_page(json::parse(R"({"kind": "compute#instanceList"})")).instances.empty());
  CHECK(parse_instance_page(json::parse(R"({"nextPageToken": "t"})")).next_page_token == "t");
  CHECK_THROWS_WITH(parse_instance(json::object()), Catch::Contains("name"));
  CHECK_THROWS_AS(parse_operation(json::array()), ProtocolError);
}

}  // namespace scavenger::gcp
