#include "cloud_gcp/provider/quota_room.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace scavenger::gcp {
namespace {

MachineType type(const std::string& name, double vcpus) {
  MachineType made;
  made.name = name;
  made.vcpus = vcpus;
  made.memory_gib = 4.0 * vcpus;
  return made;
}

VmDemand on_demand() {
  VmDemand demand;
  demand.is_spot = false;
  return demand;
}

QuotaRoom room(const std::vector<MachineType>& types, const VmDemand& demand,
               const std::vector<Quota>& quotas) {
  return quota_room(types, demand, quotas);
}

}  // namespace

TEST_CASE("A VM counts against the CPU quota of its series") {
  const std::vector<Quota> quotas = {{"CPUS", 24.0, 20.0}, {"N2D_CPUS", 8.0, 0.0}};
  CHECK(room({type("e2-standard-4", 4.0)}, on_demand(), quotas).vms == 6.0);
  CHECK(room({type("n1-standard-4", 4.0)}, on_demand(), quotas).vms == 6.0);
  CHECK(room({type("custom-4-8192", 4.0)}, on_demand(), quotas).vms == 6.0);
  const QuotaRoom n2d = room({type("n2d-standard-4", 4.0)}, on_demand(), quotas);
  CHECK(n2d.vms == 2.0);
  REQUIRE(n2d.tightest.has_value());
  CHECK(n2d.tightest->metric == "N2D_CPUS");
  CHECK(n2d.per_vm == 4.0);
  CHECK(room({type("n2d-standard-16", 16.0)}, on_demand(), quotas).vms == 0.0);
}

TEST_CASE("What a region does not list does not limit") {
  const std::vector<Quota> quotas = {{"CPUS", 24.0, 20.0}};
  const QuotaRoom found = room({type("c4-standard-8", 8.0)}, on_demand(), quotas);
  CHECK(std::isinf(found.vms));
  CHECK_FALSE(found.tightest.has_value());
}

TEST_CASE("Spot VMs count against the preemptible quota where it was granted, else as others") {
  const VmDemand spot;
  const std::vector<Quota> granted = {{"N2_CPUS", 64.0, 0.0}, {"PREEMPTIBLE_CPUS", 8.0, 0.0}};
  CHECK(room({type("n2-standard-8", 8.0)}, spot, granted).vms == 1.0);
  CHECK(room({type("n2-standard-8", 8.0)}, on_demand(), granted).vms == 8.0);
  const std::vector<Quota> not_granted = {{"N2_CPUS", 64.0, 0.0}, {"PREEMPTIBLE_CPUS", 0.0, 0.0}};
  CHECK(room({type("n2-standard-8", 8.0)}, spot, not_granted).vms == 8.0);
}

TEST_CASE("GPUs count, whether they are added or belong to the machine") {
  VmDemand demand = on_demand();
  demand.gpus = {"nvidia-tesla-t4", 2};
  const std::vector<Quota> quotas = {{"CPUS", 64.0, 0.0},
                                     {"NVIDIA_T4_GPUS", 4.0, 0.0},
                                     {"NVIDIA_L4_GPUS", 1.0, 0.0},
                                     {"PREEMPTIBLE_NVIDIA_L4_GPUS", 3.0, 0.0}};
  const QuotaRoom added = room({type("n1-standard-4", 4.0)}, demand, quotas);
  CHECK(added.vms == 2.0);
  CHECK(added.tightest->metric == "NVIDIA_T4_GPUS");
  MachineType g2 = type("g2-standard-8", 8.0);
  g2.gpus = {"nvidia-l4", 1};
  CHECK(room({g2}, on_demand(), quotas).vms == 1.0);
  CHECK(room({g2}, VmDemand(), quotas).vms == 3.0);
}

TEST_CASE("Disks, addresses and the number of VMs are limited, too") {
  VmDemand demand = on_demand();
  demand.disk.gib = 100;
  const std::vector<Quota> quotas = {
      {"CPUS", 640.0, 0.0}, {"SSD_TOTAL_GB", 500.0, 0.0}, {"IN_USE_ADDRESSES", 4.0, 0.0}};
  CHECK(room({type("e2-standard-2", 2.0)}, demand, quotas).vms == 5.0);
  demand.disk.type = "pd-standard";
  CHECK(room({type("e2-standard-2", 2.0)}, demand, quotas).vms == 320.0);
  demand.has_external_address = true;
  CHECK(room({type("e2-standard-2", 2.0)}, demand, quotas).vms == 4.0);
  CHECK(room({type("e2-standard-2", 2.0)}, demand, {{"INSTANCES", 3.0, 3.0}}).vms == 3.0);
}

TEST_CASE("Types with quotas of their own add up, those that share one do not") {
  const std::vector<Quota> quotas = {{"CPUS", 8.0, 0.0}, {"N2D_CPUS", 4.0, 0.0}};
  CHECK(room({type("e2-standard-4", 4.0), type("n1-standard-2", 2.0)}, on_demand(), quotas).vms ==
        4.0);
  CHECK(room({type("e2-standard-4", 4.0), type("n2d-standard-2", 2.0)}, on_demand(), quotas).vms ==
        4.0);
  const std::vector<Quota> few = {
      {"CPUS", 8.0, 0.0}, {"N2D_CPUS", 4.0, 0.0}, {"INSTANCES", 3.0, 0.0}};
  CHECK(room({type("e2-standard-4", 4.0), type("n2d-standard-2", 2.0)}, on_demand(), few).vms ==
        3.0);
}

}  // namespace scavenger::gcp
