// A job that has a target and is evaluated after each epoch, for tests of what its curve tells.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "elastic/history/run_summary.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {

// 1000 samples an epoch, B = 50. `measure` completes the evaluation at the end of an epoch. Two
// events at 1 s and 2 s, then two for each epoch, a second apart.
inline RunSummary evaluated_job(
    int epochs, Metric metric, double goal,
    const std::function<void(int epoch, fact::Evaluation& evaluation)>& measure) {
  RunSummary summary;
  double time = 0.0;
  const auto log = [&](RunEvent event) { summary.apply({time += 1.0, std::move(event)}); };
  fact::Start start = sample_start();
  start.target = fact::Target{.metric = metric, .split = Split::kTest, .value = goal};
  log(start);
  log(sample_membership(1, {25, 25}));
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const auto end = 20 * static_cast<std::uint64_t>(epoch);
    log(sample_iterations(1, end - 20, 20, 2));
    fact::Evaluation evaluation = sample_evaluation(end, epoch, 1.0, 0.5);
    measure(epoch, evaluation);
    log(evaluation);
  }
  return summary;
}

}  // namespace scavenger::elastic
