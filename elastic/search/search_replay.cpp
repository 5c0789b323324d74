#include "elastic/search/search_replay.h"

#include <utility>
#include <variant>

#include "elastic/search/machine_pool.h"
#include "elastic/search/search_grid.h"
#include "elastic/search/stored_models.h"
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

AdvisorReplay search_replay(
    std::function<std::optional<SearchSetting>(const fact::Start&)> setting_of) {
  return AdvisorReplay(
      {.decide_of = ReplayedAdvisor::by_setting(std::move(setting_of), continue_search),
       .is_decision = is_decision,
       .may_come_from_outside = is_end});
}

ReplayedLog replay_search(const std::filesystem::path& run_folder, ConfigOf config_of,
                          CatalogueOf catalogue_of) {
  const auto setting_of = [stored = read_stored_models(run_folder),
                           config_of = std::move(config_of),
                           catalogue_of = std::move(catalogue_of)](const fact::Start& start) {
    const JobConfig& config = config_of(start);
    std::optional<SearchSetting> setting;
    if (searches_size(config))
      setting = SearchSetting{config, search_grid(config.search), stored,
                              machine_pool(config, catalogue_of(config))};
    return setting;
  };
  return replay_log(run_folder, search_replay(setting_of));
}

}  // namespace scavenger::elastic
