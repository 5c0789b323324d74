// What a running job that searches for its machine type was told (provider.vms). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "elastic/vms/vm_types.h"
#include "perfmodel/time/mixed_cluster.h"
#include "runtime/config/job_config.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::elastic {

struct VmRaceSetting {
  std::vector<VmType> types;  // at the price that the job pays: spot, if it asks for those
  std::map<std::string, std::size_t> zones;  // in which there are machines, by type
  Policy policy = Policy::kMinimumCost;
  double confidence = 0.9;
  std::optional<double> profile_budget;  // dollars, of all auditions together
  std::uint32_t max_vms = 8;
  perfmodel::Sharing sharing = perfmodel::Sharing::kEven;
  StopConfig stop;
  bool state_is_elsewhere = true;  // on shards beside the controller
};

// Whether provider.vms.mode is "auto".
bool seeks_machine_type(const ProviderConfig& provider);

// Throws InputError if the catalogue has no type with a price and cores that fits provider.vms, or
// the job searches for K and B as well.
VmRaceSetting vm_race_setting(const JobConfig& config, const MachineCatalogue& catalogue);

// With which a job begins that knows nothing but the catalogue: the types by their price per unit
// of rate, first those of which there are machines for all its workers. If there is no machine of
// the first one, the others follow in their order.
std::vector<std::string> first_types(const VmRaceSetting& setting, std::uint32_t workers);

}  // namespace scavenger::elastic
