// The facts of the search for K and B (elastic/search), with its predictions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/vocabulary/policy.h"
#include "runtime/vocabulary/word.h"

namespace scavenger::elastic::fact {

enum class SearchPhase { kColdStart, kProfiling, kSettled, kAgain, kEnded };
inline constexpr std::array<Named<SearchPhase>, 5> kSearchPhases{{
    {SearchPhase::kColdStart, "cold_start"},
    {SearchPhase::kProfiling, "profiling"},
    {SearchPhase::kSettled, "settled"},
    {SearchPhase::kAgain, "again"},
    {SearchPhase::kEnded, "ended"},
}};
static_assert(is_complete(kSearchPhases, SearchPhase::kEnded));
constexpr const auto& table_of(SearchPhase) {
  return kSearchPhases;
}

// The search for the best configuration goes a step on.
struct SearchStep {
  static constexpr std::string_view kName = "search_step";

  std::uint64_t iteration = 0;
  SearchPhase phase = SearchPhase::kColdStart;
  std::uint32_t workers = 0;     // K that the job is to have now
  std::uint32_t batch_size = 0;  // B
  std::string reason;

  bool operator==(const SearchStep&) const = default;
};

// What a configuration is expected to take.
struct PredictedConfiguration {
  std::uint32_t workers = 0;
  std::uint32_t batch_size = 0;
  double iteration_seconds = 0.0;
  double iteration_seconds_low = 0.0;  // of its 95 % interval
  double iteration_seconds_high = 0.0;
  double epochs = 0.0;  // of the whole job to its target; see Prediction::relative
  double seconds = 0.0;
  double seconds_low = 0.0;
  double seconds_high = 0.0;
  double cost = 0.0;
  bool measured = false;      // its seconds per iteration were
  bool extrapolated = false;  // beyond what was measured
  bool pareto = false;        // no other is better in both time and cost
  bool knee = false;

  bool operator==(const PredictedConfiguration&) const = default;
};

// What the performance model says of all candidates, and which one the policy takes.
struct Prediction {
  static constexpr std::string_view kName = "prediction";

  std::uint64_t iteration = 0;
  Policy policy = Policy::kKnee;
  // Epochs are in units of those at reference_batch, and times and costs with them: no run to the
  // target is known.
  bool relative = false;
  double reference_batch = 0.0;
  std::string time_form;
  std::string statistical_form;
  double noise_scale = 0.0;       // B_s that it was made with; not finite: none
  std::uint32_t noise_phase = 0;  // of the learning rate, in which it was measured
  std::uint32_t workers = 0;      // of the chosen one; of the nearest if none is within the limits
  std::uint32_t batch_size = 0;   // of the chosen one
  std::string reason;
  std::vector<PredictedConfiguration> candidates;

  bool operator==(const Prediction&) const = default;
};

}  // namespace scavenger::elastic::fact
