#include "elastic/search/search_replay.h"

#include <fmt/format.h>

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

// The only decision that comes from outside.
bool is_end(const RunEvent& event) {
  const auto* step = std::get_if<fact::SearchStep>(&event);
  return step != nullptr && step->phase == fact::SearchPhase::kEnded;
}

std::string text_of(const RunEvent& event) {
  return to_json_line({0.0, event});
}

}  // namespace

std::optional<std::string> SearchReplay::compare(const RunEvent& recorded) {
  if (expected_.empty())
    return is_end(recorded)
               ? std::nullopt
               : std::optional("nothing is to be decided, and the log has " + text_of(recorded));
  const std::string wanted = text_of(expected_.front()), found = text_of(recorded);
  expected_.pop_front();
  ++decisions_;
  if (wanted == found) return std::nullopt;
  return fmt::format("decided {}, and the log has {}", wanted, found);
}

std::optional<std::string> SearchReplay::add(const LoggedEvent& logged) {
  // That the noise has settled is logged between iterations and what is decided on them.
  const bool waits = std::holds_alternative<fact::NoiseStable>(logged.event);
  if (iterations_came_ && !waits) {
    iterations_came_ = false;
    for (RunEvent& event : continue_search(setting_, summary_.numbers()))
      expected_.push_back(std::move(event));
  }
  std::optional<std::string> difference;
  if (is_decision(logged.event)) {
    difference = compare(logged.event);
  } else if (!expected_.empty() && std::holds_alternative<fact::Start>(logged.event)) {
    expected_.clear();  // a kill came between the decision and its record: it is made again
  } else if (!expected_.empty() && !waits) {
    difference = "the log lacks " + text_of(expected_.front());
    expected_.clear();
  }
  summary_.apply(logged);
  iterations_came_ |= is_measurement(logged.event);
  return difference;
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
      run_folder, SearchReplay({config, search_grid(config.search), read_stored_models(run_folder),
                                machine_pool(config, catalogue_of(config))}));
}

}  // namespace scavenger::elastic
