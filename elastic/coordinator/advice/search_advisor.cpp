#include "elastic/coordinator/advice/search_advisor.h"

#include <iterator>
#include <utility>
#include <variant>

namespace scavenger::elastic {
namespace {

bool is_carried_out(const fact::SearchStep& step, const Membership& membership) {
  return step.workers == membership.workers() && step.batch_size == membership.batch_size;
}

}  // namespace

Advice SearchAdvisor::begin(const JobView& job) {
  const auto& steps = job.numbers.search_steps;
  const Membership& first = job.controller.membership();
  if (steps.total == 0 || is_carried_out(steps.latest.back().fact, first)) return {};
  const fact::SearchStep& last = steps.latest.back().fact;
  // There are no processes yet that could change: observe() sees to that once the job trains.
  was_cut_off_ = steps.latest.size() > 1 && last.phase != fact::SearchPhase::kEnded &&
                 is_carried_out(std::prev(steps.latest.end(), 2)->fact, first);
  if (was_cut_off_) return {};
  return overrule(
      {first.workers(), first.batch_size, "resumed with another K or B than was sought"}, job);
}

// Only when iterations were logged, and from nothing but what was logged: a replay of the log does
// the same.
Advice SearchAdvisor::observe(const RunEvent& event, const JobView& job) {
  if (!is_measurement(event)) return {};
  Advice advice;
  if (was_cut_off_) {
    // What is measured until then was measured before.
    const fact::SearchStep& last = job.numbers.search_steps.latest.back().fact;
    was_cut_off_ = !is_carried_out(last, job.controller.membership());
    if (was_cut_off_) {
      advice.shape = unless_wanted(last, job.controller);
      return advice;
    }
  }
  advice.events = continue_search(setting_, job.numbers);
  for (const RunEvent& found : advice.events)
    if (const auto* step = std::get_if<fact::SearchStep>(&found))
      advice.shape = unless_wanted(*step, job.controller);
  return advice;
}

std::optional<Advice::Shape> SearchAdvisor::unless_wanted(const fact::SearchStep& step,
                                                          const Controller& controller) const {
  const bool is_look = setting_.config.search.mode == SearchMode::kAuto &&
                       step.phase == fact::SearchPhase::kProfiling;
  if (step.workers == controller.wanted_workers() &&
      step.batch_size == controller.wanted_batch_size() && is_look == controller.is_look())
    return std::nullopt;
  return Advice::Shape{step.workers, step.batch_size, "search: " + step.reason, {}, is_look};
}

Advice SearchAdvisor::overrule(const Advice::Shape& shape, const JobView& job) {
  was_cut_off_ = false;
  Advice advice;
  advice.events = end_search(job.numbers, shape.workers, shape.batch_size, shape.reason);
  return advice;
}

}  // namespace scavenger::elastic
