// What the model of a job's machines is fitted to: types, and what was measured on them. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "elastic/plan/known_model.h"
#include "elastic/vms/vm_types.h"
#include "perfmodel/machines/machine_model.h"

namespace scavenger::elastic {

// Those to choose from, and then those that the job ran on besides.
//
// If workers share a machine that nobody rented, host_type(), what each had of it is a type of its
// own: so many of its cores. If the catalogue does not know the machine, its cores are taken to be
// as fast as the catalogue's are in the median.
class KnownTypes final {
 public:
  // `others` are looked up only.
  KnownTypes(const KnownModel& known, const std::vector<VmType>& catalogue,
             std::span<const perfmodel::MachineFeatures> others);

  const std::vector<perfmodel::MachineFeatures>& features() const { return features_; }
  const std::map<std::string, std::size_t>& places() const { return places_; }  // by name
  // One for each type of which the catalogue says nothing.
  const std::vector<std::string>& notes() const { return notes_; }
  std::vector<perfmodel::MachineObservation> observations_of(const KnownModel& known) const;

 private:
  void add(const perfmodel::MachineFeatures& features);
  void add_ran_on(const std::string& machine, double workers);
  perfmodel::MachineFeatures found(const std::string& machine);

  std::span<const perfmodel::MachineFeatures> others_;
  std::optional<double> core_rate_;  // the median of types without GPUs
  bool used_gpus_;
  std::vector<perfmodel::MachineFeatures> features_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::string> notes_;
};

}  // namespace scavenger::elastic
