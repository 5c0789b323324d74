#include "elastic/coordinator/advice/vm_advisor.h"

#include <algorithm>
#include <variant>

#include "elastic/vms/race/vm_race.h"

namespace scavenger::elastic {
namespace {

// The machines that the job asks for, and in which order others if there are none of these.
void prefer(const VmRaceSetting& setting, const fact::VmStep& step, Advice& advice) {
  advice.machine_type = step.machine_type;
  advice.other_types = first_types(setting, step.workers);
  std::erase(advice.other_types, step.machine_type);
}

// What a step means for the job.
void add(const VmRaceSetting& setting, const fact::VmStep& step, Advice& advice) {
  // Who replaces one of the job's own workers meanwhile gets their type.
  if (step.phase == fact::VmPhase::kAudition)
    advice.next_machine_type = step.machine_type;
  else if (step.phase != fact::VmPhase::kProbing)
    prefer(setting, step, advice);
  const bool is_audition =
      step.phase == fact::VmPhase::kAudition || step.phase == fact::VmPhase::kProbing;
  advice.spot = step.spot;
  const std::string reason = "machines: " + step.reason;
  // Who is not auditioned any more gets its share as all others.
  advice.wishes.emplace_back(
      SharePinned{step.worker, is_audition ? step.share : 0, is_audition ? reason : ""});
  const bool keeps_shape = step.phase == fact::VmPhase::kProbing ||
                           (step.phase == fact::VmPhase::kBegun && !begins_after_move(step));
  if (!keeps_shape) advice.shape = {step.workers, step.batch_size, reason, step.leaving};
}

// Whether the search, and not the user, has led to this membership: the job may have been killed
// before or after its last step was carried out. A search that is over asks for nothing.
bool is_of_race(const RunNumbers& numbers, const Membership& first) {
  const auto& steps = numbers.vm_steps.latest;
  const fact::VmStep& last = steps.back().fact;
  if (last.phase == fact::VmPhase::kSettled || last.phase == fact::VmPhase::kEnded) return true;
  const auto is_one = [&](const Timed<fact::VmStep>& step) {
    return step.fact.workers == first.workers() && step.fact.batch_size == first.batch_size;
  };
  const auto given_up = resume_race(numbers);  // what it goes back to
  return std::any_of(steps.end() - std::min<std::ptrdiff_t>(2, std::ssize(steps)), steps.end(),
                     is_one) ||
         (!given_up.empty() && is_one({0.0, std::get<fact::VmStep>(given_up.front())}));
}

}  // namespace

Advice VmAdvisor::begin(const JobView& job) {
  const Membership& first = job.controller.membership();
  const auto& steps = job.numbers.vm_steps.latest;
  Advice advice;
  if (steps.empty())
    advice.events.emplace_back(begin_race(setting_, first.workers(), first.batch_size));
  else if (is_of_race(job.numbers, first))
    // There are no processes yet that could leave: observe() sees to that once the job trains.
    advice.events = resume_race(job.numbers);
  else
    advice = overrule(
        {first.workers(), first.batch_size, "resumed with another K or B than was sought"}, job);
  fact::VmStep last =
      advice.events.empty() ? steps.back().fact : std::get<fact::VmStep>(advice.events.back());
  const std::vector<std::string> types = first_types(setting_, first.workers());
  if (std::ranges::count(types, last.machine_type) == 0) {  // another provider, or other types
    last = begin_elsewhere(setting_, std::move(last));
    advice.events.emplace_back(last);
  }
  prefer(setting_, last, advice);
  advice.spot = last.spot;
  return advice;
}

Advice VmAdvisor::observe(const RunEvent& event, const JobView& job) {
  if (!is_race_occasion(event)) return {};
  Advice advice;
  advice.events = continue_race(setting_, job.numbers);
  for (const RunEvent& step : advice.events) add(setting_, std::get<fact::VmStep>(step), advice);
  const auto& steps = job.numbers.vm_steps.latest;
  if (!advice.events.empty() || steps.empty()) return advice;
  // After a resume in an audition, or in a move, there are workers too many.
  const fact::VmStep& last = steps.back().fact;
  const bool goes_on = last.phase == fact::VmPhase::kDismissed || begins_after_move(last);
  if (goes_on && job.controller.wanted_workers() != last.workers) add(setting_, last, advice);
  return advice;
}

Advice VmAdvisor::overrule(const Advice::Shape& shape, const JobView& job) {
  Advice advice;
  advice.events = end_race(job.numbers, shape.workers, shape.batch_size, shape.reason);
  for (const RunEvent& event : advice.events) {
    const auto& step = std::get<fact::VmStep>(event);
    advice.machine_type = step.machine_type;
    advice.wishes.emplace_back(SharePinned{step.worker, 0, ""});
  }
  return advice;
}

}  // namespace scavenger::elastic
