#include "elastic/search/search_replay.h"

#include <utility>
#include <variant>

#include "elastic/search/machine_pool.h"
#include "elastic/search/search_grid.h"
#include "elastic/search/stored_models.h"
#include "runtime/base/error.h"
#include "runtime/config/config_file.h"

namespace scavenger::elastic {
namespace {

bool is_decision(const RunEvent& event) {
  return std::holds_alternative<fact::SearchStep>(event) ||
         std::holds_alternative<fact::Prediction>(event);
}

// The only decision that may come from outside.
bool is_end(const RunEvent& event) {
  const auto* step = std::get_if<fact::SearchStep>(&event);
  return step != nullptr && step->phase == fact::SearchPhase::kEnded;
}

}  // namespace

AdvisorReplay search_replay(SearchSetting setting) {
  return AdvisorReplay(
      {.decide = [setting = std::move(setting)](
                     const RunNumbers& numbers) { return continue_search(setting, numbers); },
       .is_decision = is_decision,
       .may_come_from_outside = is_end});
}

bool searches(const std::filesystem::path& run_folder) {
  return read_resolved_config(run_folder / "config.json").search.mode != SearchMode::kOff;
}

ReplayedLog replay_search(const std::filesystem::path& run_folder,
                          const CatalogueOf& catalogue_of) {
  const JobConfig config = read_resolved_config(run_folder / "config.json");
  if (config.search.mode == SearchMode::kOff)
    throw InputError({.what = "this job did not search for its configuration",
                      .where = run_folder.string(),
                      .remedy = "name a run of scavenger-train --search"});
  return replay_log(
      run_folder, search_replay({config, search_grid(config.search), read_stored_models(run_folder),
                                 machine_pool(config, catalogue_of(config))}));
}

}  // namespace scavenger::elastic
