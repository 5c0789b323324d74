// Decides again what a recorded search for K and B has decided.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "elastic/decisions/advisor_replay.h"
#include "elastic/decisions/recorded_configs.h"
#include "elastic/events/log_replay.h"
#include "elastic/search/search.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::elastic {

// Takes the events of a log in their order. `setting_of` returns what the process that has begun so
// was told, or nothing if it does not search.
AdvisorReplay search_replay(
    std::function<std::optional<SearchSetting>(const fact::Start&)> setting_of);

// Reads a run folder, whose processes had these configurations. `catalogue_of` returns what the
// job's provider has to offer.
using CatalogueOf = std::function<MachineCatalogue(const JobConfig&)>;
ReplayedLog replay_search(const std::filesystem::path& run_folder, ConfigOf config_of,
                          CatalogueOf catalogue_of);

}  // namespace scavenger::elastic
