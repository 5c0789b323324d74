// The machines among which a search chooses a number of workers.
#pragma once

#include "perfmodel/mixed_cluster.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Of a provider with several types that are taken in a fixed order: how many there are, their
// cores in units of the first type's, and their prices (a dollar each where none has one). Not
// mixed for all others.
perfmodel::MachinePool machine_pool(const JobConfig& config);

}  // namespace scavenger::elastic
