#include "elastic/coordinator/advice/search_advisor.h"

#include <utility>
#include <variant>

namespace scavenger::elastic {

Advice SearchAdvisor::begin(const JobView& job) {
  const auto& steps = job.numbers.search_steps;
  const Membership& first = job.controller.membership();
  if (steps.total == 0 || (steps.latest.back().fact.workers == first.workers() &&
                           steps.latest.back().fact.batch_size == first.batch_size))
    return {};
  return overrule(
      {first.workers(), first.batch_size, "resumed with another K or B than was sought"}, job);
}

// Only when iterations were logged, and from nothing but what was logged: a replay of the log does
// the same.
Advice SearchAdvisor::observe(const RunEvent& event, const JobView& job) {
  if (!is_measurement(event)) return {};
  Advice advice;
  advice.events = continue_search(setting_, job.numbers);
  for (const RunEvent& found : advice.events) {
    const auto* step = std::get_if<fact::SearchStep>(&found);
    if (step == nullptr) continue;
    const bool is_look = setting_.config.search.mode == SearchMode::kAuto &&
                         step->phase == fact::SearchPhase::kProfiling;
    if (step->workers != job.controller.wanted_workers() ||
        step->batch_size != job.controller.wanted_batch_size() ||
        is_look != job.controller.is_look())
      advice.shape = {step->workers, step->batch_size, "search: " + step->reason, {}, is_look};
  }
  return advice;
}

Advice SearchAdvisor::overrule(const Advice::Shape& shape, const JobView& job) {
  Advice advice;
  advice.events = end_search(job.numbers, shape.workers, shape.batch_size, shape.reason);
  return advice;
}

}  // namespace scavenger::elastic
