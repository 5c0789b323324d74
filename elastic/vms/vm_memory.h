// What fits in a VM's memory. Pure.
#pragma once

#include <optional>

#include "elastic/plan/known_model.h"
#include "elastic/vms/vm_types.h"

namespace scavenger::elastic {

// Samples of one worker that fit beside the model and the system; 0: not even the model fits.
// Nothing: not known. Without the type's memory or what a sample takes, what the runs' own
// machines had room for counts.
std::optional<double> room_in_memory(const VmType& type, const KnownModel& model);

}  // namespace scavenger::elastic
