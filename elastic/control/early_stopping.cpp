#include "elastic/control/early_stopping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/config/metric.h"

namespace scavenger::elastic {

void note_evaluation(const EarlyStoppingConfig& rule, std::uint64_t iteration, double value,
                     EarlyStopState& state) {
  std::erase_if(state.without_gain, [&](std::uint64_t seen) { return seen >= iteration; });
  const double sign = is_better_when_high(rule.metric) ? 1.0 : -1.0;
  const bool gains =
      std::isfinite(value) && (!state.best || sign * (value - *state.best) > rule.min_delta);
  if (gains) {
    state.best = value;
    state.best_iteration = iteration;
    state.without_gain.clear();
  } else if (!state.best || iteration > state.best_iteration) {
    state.without_gain.push_back(iteration);
  }
}

bool is_exhausted(const EarlyStoppingConfig& rule, const EarlyStopState& state) {
  return state.without_gain.size() >= rule.patience;
}

std::string early_stop_reason(const EarlyStoppingConfig& rule, const EarlyStopState& state) {
  const std::string count = fmt::format("{} evaluation{}", state.without_gain.size(),
                                        state.without_gain.size() == 1 ? "" : "s");
  if (!state.best)
    return fmt::format("early stopping: {} gave no finite {}", count, name_of(rule.metric));
  return fmt::format("early stopping: in {} {} did not become better than {:.6g}, of iteration {}",
                     count, name_of(rule.metric), *state.best, state.best_iteration);
}

}  // namespace scavenger::elastic
