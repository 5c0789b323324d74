// Decides again what a recorded search for the machine type has decided.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "elastic/decisions/advisor_replay.h"
#include "elastic/decisions/recorded_configs.h"
#include "elastic/events/log_replay.h"
#include "elastic/vms/race/vm_race_setting.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::elastic {

// Takes the events of a log in their order. `setting_of` returns what the process that has begun so
// was told, or nothing if it does not search.
AdvisorReplay race_replay(
    std::function<std::optional<VmRaceSetting>(const fact::Start&)> setting_of);

// Reads a run folder, whose processes had these configurations. `catalogue_of` returns what the
// job's provider has to offer.
ReplayedLog replay_race(const std::filesystem::path& run_folder, ConfigOf config_of,
                        std::function<MachineCatalogue(const JobConfig&)> catalogue_of);

}  // namespace scavenger::elastic
