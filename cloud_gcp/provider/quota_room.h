// How many VMs the limits of a region's quotas allow, whatever is in use now. Pure.
//
// Which quota a VM counts against: its vCPUs against CPUS (series E2 and N1) or the one of its
// series (N2D_CPUS), its GPUs against the one of their type; a spot VM against the preemptible ones
// if the project has been granted them, else against the same as others. What a region does not
// list, as the CPU quotas of newer series, is taken for unlimited: Compute Engine then says so.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cloud_gcp/api/vm_order.h"

namespace scavenger::gcp {

// What a job's VMs have in common.
struct VmDemand {
  bool is_spot = true;
  AddedGpus gpus;
  DiskOrder disk;
  bool has_external_address = false;
};

// What one VM takes of the quotas that the region lists, by metric.
std::map<std::string, double> quota_use(const MachineType& type, const VmDemand& demand,
                                        std::span<const Quota> quotas);

struct QuotaRoom {
  double vms = 0.0;               // infinity: no quota that the region lists limits them
  std::optional<Quota> tightest;  // that does
  double per_vm = 0.0;            // what one VM takes of that
};

// Of one type, or of several together, as they come.
QuotaRoom quota_room(std::span<const MachineType> types, const VmDemand& demand,
                     std::span<const Quota> quotas);

}  // namespace scavenger::gcp
