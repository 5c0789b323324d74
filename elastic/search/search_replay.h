// Decides again what a recorded search for K and B has decided, from its event log alone.
#pragma once

#include <filesystem>
#include <functional>

#include "elastic/decisions/advisor_replay.h"
#include "elastic/events/log_replay.h"
#include "elastic/search/search.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::elastic {

// Takes the events of a log in their order.
AdvisorReplay search_replay(SearchSetting setting);

// Returns whether a run has a search. Throws InputError if the folder is no run.
bool searches(const std::filesystem::path& run_folder);

// Reads a run folder. `catalogue_of` returns what the job's provider has to offer. Throws
// InputError if the folder is no run, or its search is off.
using CatalogueOf = std::function<MachineCatalogue(const JobConfig&)>;
ReplayedLog replay_search(const std::filesystem::path& run_folder, const CatalogueOf& catalogue_of);

}  // namespace scavenger::elastic
