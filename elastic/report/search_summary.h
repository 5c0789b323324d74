// What the search has decided, what looking around has cost, and what that is believed to have
// saved. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "elastic/history/run_numbers.h"
#include "elastic/report/savings.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

struct SearchSummary {
  JobSize first;  // as the job was configured
  JobSize now;    // that it trains with
  std::uint64_t looks = 0;
  std::string decided;  // the last step's reason
  // Beyond what the same progress takes where the job was, with the moves
  // (perfmodel/search/exploration.h); nothing if old memberships were folded together.
  std::optional<double> spent_seconds{};
  double elapsed_seconds = 0.0;
  // Beside the first, by the last prediction; nothing if the job has it, or nothing is predicted.
  std::optional<PartSaved> seconds_saved{};
  std::optional<PartSaved> cost_saved{};
};

// Nothing if the job does not search, or has not begun to.
std::optional<SearchSummary> summarise_search(const RunNumbers& numbers);

// "trains at K 4  B 128 in place of K 1  B 64, as configured, for 45 % less time (40 to 50 % less);
// looking (3 times) has cost 1.2 s, 0.8 % of the time".
std::string search_sentence(const SearchSummary& summary);

// For report.json; null for nothing.
nlohmann::ordered_json search_summary_json(const RunNumbers& numbers);

}  // namespace scavenger::elastic
