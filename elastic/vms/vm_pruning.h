// Machine types that need no prediction, since none of their plans could be the best. Pure.
#pragma once

#include <vector>

#include "elastic/vms/vm_plan.h"

namespace scavenger::elastic {

// Removes from `types`, and returns with the reason: those whose memory does not hold the model
// and a sample, those of which a quota allows none, those of whose processor nothing was measured
// (processor_of()), and those that another type of their family matches or beats in price, cores,
// memory, link and number. If types with and without GPUs are left, GPUs have no rate any more.
std::vector<PrunedType> prune_types(std::vector<VmType>& types, const KnownModel& model,
                                    const VmQuestion& question);

}  // namespace scavenger::elastic
