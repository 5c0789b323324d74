// The machines among which a search chooses a number of workers. Pure functions of what the
// provider has to offer.
#pragma once

#include <cstdint>

#include "perfmodel/time/mixed_cluster.h"
#include "runtime/config/job_config.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::elastic {

// If several types are taken in a fixed order, and it is known how many there are: their speeds in
// units of the first type's (expected_speeds()), and their prices (a dollar each if none has one).
// Not mixed for all others.
perfmodel::MachinePool machine_pool(const JobConfig& config, const MachineCatalogue& catalogue);

// How many workers a search may take for granted: those that fit here, or on the machines that
// there are, and eight of those that are rented.
std::uint32_t room_for_workers(const JobConfig& config, const MachineCatalogue& catalogue);

}  // namespace scavenger::elastic
