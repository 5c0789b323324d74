// When a job ends since it has stopped to become better. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// What is known of the evaluations until now. Iterations are counts of those that are done.
struct EarlyStopState {
  std::optional<double> best;               // of the metric, as it is
  std::uint64_t best_iteration = 0;         // at which it was found
  std::vector<std::uint64_t> without_gain;  // evaluations after it, ascending

  bool operator==(const EarlyStopState&) const = default;
};

// Takes in an evaluation. One that is made again, since iterations had to be done again, counts
// once. A value that is not finite is no gain.
void note_evaluation(const EarlyStoppingConfig& rule, std::uint64_t iteration, double value,
                     EarlyStopState& state);

// There is no patience left.
bool is_exhausted(const EarlyStoppingConfig& rule, const EarlyStopState& state);

// For people. Requires is_exhausted().
std::string early_stop_reason(const EarlyStoppingConfig& rule, const EarlyStopState& state);

}  // namespace scavenger::elastic
