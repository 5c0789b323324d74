// Other batch sizes that a running job may go on with, and how many iterations it would take at
// them: by the noise of its gradients and the curve of its loss, as the search for K and B
// (elastic/search) knows it. Pure.
#pragma once

#include <vector>

#include "elastic/vms/race/race_view.h"
#include "elastic/vms/vm_plan.h"

namespace scavenger::elastic {

// Empty if the job was given no other batch sizes, or its noise is not known yet.
std::vector<VmQuestion::RunningBatch> other_batches(const RaceView& view);

}  // namespace scavenger::elastic
