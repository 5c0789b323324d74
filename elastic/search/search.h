// Finds the job's configuration while it trains: which to measure, which to choose, and when to
// look again (docs/search.md).
//
// Pure, and a function of nothing but the events so far: the same log leads to the same decisions,
// whether it is being written, was read back by a resumed job, or is replayed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elastic/history/run_numbers.h"
#include "perfmodel/store/model_record.h"
#include "perfmodel/time/mixed_cluster.h"
#include "perfmodel/time/observation.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

struct SearchSetting {
  JobConfig config;                                  // after resolve_search()
  std::vector<perfmodel::Configuration> candidates;  // search_grid()
  std::vector<perfmodel::ModelRecord> stored;        // of earlier jobs
  perfmodel::MachinePool machines;                   // machine_pool()
};

// What there is to log after an `iterations` event: mostly nothing; else a `search_step`, whose K
// and B the job is to have from then on, and before it the `prediction` that it follows from.
std::vector<RunEvent> continue_search(const SearchSetting& setting, const RunNumbers& numbers);

// The step that ends a search, if somebody else has decided on K and B. Nothing if no search
// goes on.
std::vector<RunEvent> end_search(const RunNumbers& numbers, std::uint32_t workers,
                                 std::uint32_t batch_size, std::string reason);

}  // namespace scavenger::elastic
