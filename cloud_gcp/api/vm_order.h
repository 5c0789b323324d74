// What a VM is to be, and what Compute Engine says that it is.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cloud_gcp/pricing/prices.h"

namespace scavenger::gcp {

struct DiskOrder {
  std::string image = "projects/debian-cloud/global/images/family/debian-12";
  std::string type = "pd-balanced";
  std::uint64_t gib = 20;
  bool operator==(const DiskOrder&) const = default;
};

struct NetworkOrder {
  std::string network = "global/networks/default";
  std::string subnetwork;         // empty: the network's own, if it makes them itself
  bool external_address = false;  // reach the internet without Cloud NAT
  bool operator==(const NetworkOrder&) const = default;
};

struct VmOrder {
  std::string name;
  std::string zone;
  std::string machine_type;  // its bare name
  Provisioning provisioning = Provisioning::kSpot;
  AddedGpus gpus;
  DiskOrder disk;
  NetworkOrder network;
  std::string service_account = "default";
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> metadata;
  std::uint64_t max_run_seconds = 86400;        // then the cloud deletes it, whatever became of us
  std::uint64_t preemption_notice_seconds = 0;  // 0 or 120; asked for on spot VMs only
};

enum class VmState {
  kComing,   // PENDING, PROVISIONING, STAGING
  kRunning,  // RUNNING
  kLeaving,  // STOPPING, SUSPENDING, ...: it may still be charged
  kStopped,  // TERMINATED, STOPPED, SUSPENDED: nothing runs, its disk is charged
};

// A machine type that a zone has.
struct MachineType {
  std::string name;
  double vcpus = 0.0;  // that the guest sees; one of shared cores gets less
  double memory_gib = 0.0;
  bool has_shared_cores = false;
  AddedGpus gpus;  // that it brings
};

// How much of something a project may have in a region.
struct Quota {
  std::string metric;  // "CPUS"
  double limit = 0.0;
  double usage = 0.0;
};

struct Instance {
  std::string name;
  std::string zone;
  std::string machine_type;
  std::string status;  // the word of Compute Engine
  VmState state = VmState::kComing;
  bool is_spot = false;
  std::map<std::string, std::string> labels;
  std::string internal_address;
  double created_seconds = 0.0;  // of Unix time
  double started_seconds = 0.0;  // of Unix time: charged from then on; 0: not started yet
};

}  // namespace scavenger::gcp
