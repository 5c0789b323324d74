// What a running job that searches for its machine type was told (provider.vms). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "elastic/history/run_numbers.h"
#include "elastic/vms/vm_types.h"
#include "perfmodel/store/model_record.h"
#include "perfmodel/time/mixed_cluster.h"
#include "runtime/config/job_config.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::elastic {

struct VmRaceSetting {
  std::vector<VmType> types;
  bool spot = false;                         // the job asks for spot machines
  std::map<std::string, std::size_t> zones;  // in which there are machines, by type
  // In how many zones a machine has to be refused until there is none.
  std::size_t zones_of(const std::string& type) const;
  Policy policy = Policy::kMinimumCost;
  double confidence = 0.9;
  std::optional<double> profile_budget;  // dollars, of all auditions together
  std::uint32_t max_vms = 8;
  perfmodel::Sharing sharing = perfmodel::Sharing::kEven;
  double dead_band = 0.06;  // within which dynamic shares stay even
  StopConfig stop;
  bool state_is_elsewhere = true;  // on shards beside the controller
  // B that the job may have; empty: it keeps its own.
  std::vector<std::uint32_t> batch_sizes;
  // Of earlier jobs with this data and optimizer, from the store.
  std::vector<perfmodel::ModelRecord> stored;
};

// Throws InputError if the catalogue has no type with a price and cores that fits provider.vms, or
// the job searches for K and B in another way than "auto": then the search for the machine type
// finds those, too.
VmRaceSetting vm_race_setting(const JobConfig& config, const MachineCatalogue& catalogue,
                              std::span<const perfmodel::ModelRecord> stored = {});

// What earlier jobs have measured of this job's model; null before the model was built, or if there
// is nothing.
const perfmodel::ModelRecord* stored_model(const VmRaceSetting& setting, const RunNumbers& numbers);

// The types at the price that a job pays: of spot machines, if they have one.
std::vector<VmType> types_at_price(const VmRaceSetting& setting, bool spot);

// With which a job begins that knows nothing but the catalogue: the types by their price per unit
// of rate, first those of which there are machines for all its workers. If there is no machine of
// the first one, the others follow in their order.
std::vector<std::string> first_types(const VmRaceSetting& setting, std::uint32_t workers);

}  // namespace scavenger::elastic
