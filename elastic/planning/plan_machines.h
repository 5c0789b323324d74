// What scavenger-plan is told of unequal machines: --machines.
#pragma once

#include <string>

#include "perfmodel/mixed_cluster.h"
#include "perfmodel/store/model_record.h"
#include "perfmodel/store/observations.h"

namespace scavenger {

// "small:2:0.5:0.04,large:4": so many machines of a type, workers get them in this order; then
// their speed beside the machines that `reference` was observed on, and dollars per hour of each.
// Without a speed, the one at which the record's rows of that machine type show it, at
// configurations that both have; without a price, `default_price`. Throws InputError.
perfmodel::MachinePool parse_machines(const std::string& text, const perfmodel::ModelRecord& record,
                                      const perfmodel::Observations& reference,
                                      double default_price, perfmodel::Sharing sharing);

}  // namespace scavenger
