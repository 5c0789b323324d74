// Unequal machines, as a command line names them: --machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perfmodel/store/model_record.h"
#include "perfmodel/store/observations.h"
#include "perfmodel/time/mixed_cluster.h"

namespace scavenger::elastic {

// So many machines of a type.
struct NamedMachines {
  std::string type;
  double count = 0.0;
  std::optional<double> speed;           // beside the machines that were measured
  std::optional<double> price_per_hour;  // of each, in dollars
};

// "small:2:0.5:0.04,large:4": TYPE:COUNT[:SPEED[:PRICE]]; workers get them in this order. Throws
// InputError.
std::vector<NamedMachines> parse_machines(const std::string& text);

// Machines without a speed get the one at which the record's rows of their type show them, at
// configurations that `reference` has, too; those without a price get `default_price`. Throws
// InputError if a speed is not known.
perfmodel::MachinePool pool_of(const std::vector<NamedMachines>& machines,
                               const perfmodel::ModelRecord& record,
                               const perfmodel::Observations& reference, double default_price,
                               perfmodel::Sharing sharing);

}  // namespace scavenger::elastic
