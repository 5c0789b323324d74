// Decides again what a recorded search for the machine type has decided, from its event log alone.
#pragma once

#include <filesystem>
#include <functional>

#include "elastic/decisions/advisor_replay.h"
#include "elastic/events/log_replay.h"
#include "elastic/vms/vm_race_setting.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::elastic {

// Takes the events of a log in their order.
AdvisorReplay race_replay(VmRaceSetting setting);

// Returns whether a run has such a search. Throws InputError if the folder is no run.
bool seeks_machine_type(const std::filesystem::path& run_folder);

// Reads a run folder. `catalogue_of` returns what the job's provider has to offer.
ReplayedLog replay_race(const std::filesystem::path& run_folder,
                        const std::function<MachineCatalogue(const JobConfig&)>& catalogue_of);

}  // namespace scavenger::elastic
