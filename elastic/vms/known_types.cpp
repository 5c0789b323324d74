#include "elastic/vms/known_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "elastic/plan/host_type.h"
#include "perfmodel/store/observations.h"

namespace scavenger::elastic {
namespace {

using perfmodel::MachineFeatures;
using perfmodel::TimeRow;

// What each of so many workers has: of a machine that they share, its part.
std::string part_name(const std::string& machine, double workers) {
  return workers > 1.0 && cores_of_host_type(machine)
             ? fmt::format("{}, shared by {:g} workers", machine, workers)
             : machine;
}

// Of a machine without GPUs.
MachineFeatures part_of(MachineFeatures whole, double workers) {
  const auto cores = cores_of_host_type(whole.name);
  if (!cores || workers <= 1.0) return whole;
  if (whole.family.empty()) whole.family = whole.name;
  whole.name = part_name(whole.name, workers);
  if (whole.rate) *whole.rate /= workers;
  if (whole.memory_bandwidth) *whole.memory_bandwidth /= workers;
  if (whole.core_rate) *whole.core_rate *= std::min(1.0, *cores / workers);
  return whole;
}

}  // namespace

KnownTypes::KnownTypes(const KnownModel& known, const std::vector<VmType>& catalogue,
                       std::span<const MachineFeatures> others)
    : others_(others), used_gpus_(known.used_gpus) {
  std::vector<double> rates;
  for (const VmType& type : catalogue) {
    add(type.features);
    if (!(type.gpus > 0.0) && type.features.core_rate) rates.push_back(*type.features.core_rate);
  }
  std::ranges::sort(rates);
  if (!rates.empty()) core_rate_ = rates[(rates.size() - 1) / 2];
  for (const auto* rows : {&known.record.times, &known.record.compute, &known.lengthened})
    for (const TimeRow& row : *rows) add_ran_on(row.machine, row.workers);
}

void KnownTypes::add(const MachineFeatures& features) {
  if (places_.emplace(features.name, features_.size()).second) features_.push_back(features);
}

void KnownTypes::add_ran_on(const std::string& machine, double workers) {
  if (!places_.contains(machine)) add(found(machine));
  if (!used_gpus_) add(part_of(features_[places_.at(machine)], workers));
}

// Of a machine that is not to choose from.
MachineFeatures KnownTypes::found(const std::string& machine) {
  const auto other = std::ranges::find(others_, machine, &MachineFeatures::name);
  if (other != others_.end()) return *other;
  MachineFeatures features;
  features.name = machine;
  const auto cores = cores_of_host_type(machine);
  std::string says = "what it says of the other types is little";
  if (cores && core_rate_ && !used_gpus_) {
    features.core_rate = core_rate_;
    features.rate = *cores * *core_rate_;
    says = "its cores count as cores of the catalogue's, and of networks it says nothing";
  }
  notes_.push_back(
      fmt::format("the catalogue does not know \"{}\", on which the job ran: {}; add it to a "
                  "catalogue file",
                  machine, says));
  return features;
}

std::vector<perfmodel::MachineObservation> KnownTypes::observations_of(
    const KnownModel& known) const {
  std::vector<perfmodel::MachineObservation> observations;
  std::set<std::string> machines;
  for (const TimeRow& row : known.record.times) machines.insert(row.machine);
  const auto place_of = [&](const std::string& machine, double workers) {
    return places_.at(used_gpus_ ? machine : part_name(machine, workers));
  };
  for (const std::string& machine : machines) {
    perfmodel::ModelRecord own = known.record;
    std::erase_if(own.times, [&](const TimeRow& row) { return row.machine != machine; });
    for (const perfmodel::TimeObservation& o : perfmodel::observations_of(own).times)
      observations.push_back({{place_of(machine, o.configuration.workers), o.configuration.workers,
                               1.0, o.configuration.local_batch()},
                              o.seconds,
                              o.standard_error});
  }
  for (const TimeRow& row : known.record.compute)
    observations.push_back({{.type = place_of(row.machine, row.workers),
                             .local_batch = row.batch_size,
                             .is_alone = true},
                            row.seconds,
                            row.standard_error});
  for (const TimeRow& row : known.lengthened)
    observations.push_back(
        {{place_of(row.machine, row.workers), row.workers, 1.0, row.batch_size / row.workers},
         row.seconds,
         row.standard_error});
  return observations;
}

}  // namespace scavenger::elastic
