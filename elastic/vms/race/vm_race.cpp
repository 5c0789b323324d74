#include "elastic/vms/race/vm_race.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "elastic/vms/race/audition_shares.h"
#include "elastic/vms/race/race_lemons.h"
#include "elastic/vms/race/race_plan.h"
#include "elastic/vms/race/race_view.h"
#include "elastic/vms/race/race_watch.h"
#include "elastic/vms/vm_race_numbers.h"

namespace scavenger::elastic {
namespace {

using fact::VmPhase;
using fact::VmStep;

constexpr double kShareWait = 15.0;  // until a worker has the share that was wished

// How many of the machines that the last step has asked for were refused by all zones.
std::size_t refused_machines(const RaceView& view) {
  const std::string& type = view.last().machine_type;
  return refused_workers_since(view.numbers(), type, view.last_time(),
                               view.setting().zones_of(type));
}

// ---- An audition. ----

// Whether the last machine of its type that was asked for is gone, perhaps before its worker
// joined.
bool has_left(const RaceView& view) {
  using fact::MachineChange;
  const auto& changes = view.numbers().machines.latest;
  const auto last = std::find_if(changes.rbegin(), changes.rend(), [&](const auto& timed) {
    return timed.fact.machine_type == view.last().machine_type &&
           timed.fact.change != MachineChange::kRefused;
  });
  return last != changes.rend() && last->time >= view.audition_time() &&
         (last->fact.change == MachineChange::kLost ||
          last->fact.change == MachineChange::kReleased);
}

// Whether its machine was taken away. Who comes in its place is not of its type.
bool is_gone(const RaceView& view, std::uint32_t worker) {
  return has_left(view) || was_lost_since(view.numbers(), worker, view.audition_time());
}

std::vector<RunEvent> dismiss_lost(const RaceView& view) {
  return dismiss(view, view.last().worker,
                 fmt::format("the {} was lost", view.last().machine_type));
}

std::vector<RunEvent> probe(const RaceView& view, std::uint32_t worker) {
  const VmStep& last = view.last();
  if (!view.is_there(worker))
    return view.is_overdue() || is_gone(view, worker) ? dismiss_lost(view)
                                                      : std::vector<RunEvent>{};
  // Other shares than were wished come only if there was no room for those.
  if (view.share_of(worker) != last.share && view.numbers().seconds - view.last_time() < kShareWait)
    return {};
  const std::vector<MeasuredShare> known =
      measured_shares(view.numbers(), worker, view.audition_time());
  const bool here_is_known = std::ranges::any_of(
      known, [&](const MeasuredShare& one) { return one.share == view.share_of(worker); });
  if (!here_is_known) return {};  // it is being measured
  const std::uint32_t others = view.incumbent().workers;
  const std::uint32_t next = next_audition_share(known, others, view.membership().batch_size);
  if (next == 0) return decide(view);
  VmStep further =
      view.step(VmPhase::kProbing, last.machine_type, others + 1,
                fmt::format("worker {} took {:.3g} s for {} samples: measures it with {}", worker,
                            known.back().time.seconds, known.back().share, next));
  further.worker = worker;
  further.share = next;
  return {further};
}

std::vector<RunEvent> await_candidate(const RaceView& view) {
  const VmStep& last = view.last();
  for (const std::uint32_t worker : view.membership().indices) {
    if (!view.is_of(worker, last.machine_type)) continue;
    if (worker == last.worker) return probe(view, worker);
    VmStep other = view.step(VmPhase::kProbing, last.machine_type, last.workers,
                             fmt::format("the {} is worker {}", last.machine_type, worker));
    other.worker = worker;
    other.share = last.share;
    return {other};
  }
  if (is_gone(view, last.worker)) return dismiss_lost(view);
  if (refused_machines(view) > 0)
    return dismiss(view, last.worker, fmt::format("no {} can be had", last.machine_type));
  if (view.is_overdue())
    return dismiss(view, last.worker, fmt::format("no {} came", last.machine_type));
  return {};
}

// ---- Machines that were asked for. ----

std::string no_more_came(std::uint32_t count, const std::string& type) {
  return fmt::format("goes on with {} x {}: no more came", count, type);
}

// With the seconds per iteration that the move was planned with.
VmStep settle_as_planned(const RaceView& view, std::uint32_t workers, std::string reason) {
  VmStep end = view.settle(view.last().machine_type, workers, std::move(reason));
  end.seconds_low = view.last().seconds_low;
  end.seconds_high = view.last().seconds_high;
  return end;
}

std::vector<RunEvent> await_machines(const RaceView& view) {
  const VmStep& last = view.last();
  const std::string& type = last.machine_type;
  const std::uint32_t count = view.count_of(type);
  const std::uint32_t present = view.membership().workers;
  const bool on_demand =
      !view.asks_for_spot() && view.incumbent().spot.value_or(true) && view.setting().spot;
  // For those that have come on demand, as many spot machines leave.
  const std::uint32_t workers = on_demand ? view.incumbent().workers : count;
  const std::uint32_t wanted = on_demand ? workers : last.workers;
  const std::uint32_t missing = wanted - std::min(wanted, on_demand ? count : present);
  if (missing > refused_machines(view) && !view.is_overdue()) return {};
  if (count == 0) {
    VmStep stays = view.settle(view.incumbent().machine_type, view.incumbent().workers,
                               fmt::format("stays: no {} came", type));
    if (last.phase == VmPhase::kTrying) stays.phase = VmPhase::kDismissed;  // the search goes on
    return {stays};
  }
  VmStep end = settle_as_planned(
      view, workers,
      missing > 0 ? no_more_came(count, type)
                  : fmt::format("{} x {} have come, and the others leave", count, type));
  if (last.phase == VmPhase::kTrying) end.phase = VmPhase::kBegun;
  return {end};
}

// ---- The next decision. ----

// Another VM for the place of a slow one comes before the next audition: with the slow one the
// present type would look worse than it is. If the job settles, that is looked at afterwards, and a
// job that moves leaves the slow one behind.
std::vector<RunEvent> decide_next(const RaceView& view) {
  std::vector<RunEvent> decision = decide(view);
  const auto begins_audition = [](const RunEvent& event) {
    return std::get<VmStep>(event).phase == VmPhase::kAudition;
  };
  if (std::ranges::none_of(decision, begins_audition)) return decision;
  if (auto step = replace_lemon(view)) return {std::move(*step)};
  return decision;
}

bool has_its_workers(const RaceView& view) {
  return view.membership().workers == view.last().workers || view.is_overdue();
}

// If there was no machine of the type that the job asked for, its workers may be of another one, or
// of several. Those tell too little of each: the type that most of them have goes on alone. Nothing
// if the job has what it asked for.
std::optional<VmStep> go_on_with_one_type(const RaceView& view) {
  const fact::Membership& membership = view.membership();
  const std::string& wanted = view.last().machine_type;
  const std::string type = commonest_type(membership.indices, view.types());
  if (type.empty()) return std::nullopt;
  VmStep step = view.settle(type, membership.workers, {});
  if (type == wanted && step.leaving.empty()) return std::nullopt;
  step.phase = VmPhase::kBegun;
  step.workers = membership.workers - static_cast<std::uint32_t>(step.leaving.size());
  step.reason = step.leaving.empty()
                    ? fmt::format("goes on with {}: there was no {}", type, wanted)
                    : fmt::format(
                          "goes on with {} x {}: workers of several types tell too little "
                          "of each",
                          step.workers, type);
  return step;
}

// Whether what is measured came after the last step. Before, workers may be there that leave with
// it.
bool is_of_last_step(const RaceView& view) {
  const PhaseNumbers& phase = view.numbers().phases.back();
  return phase.begin_time > view.last_time() && is_measured(phase);
}

std::vector<RunEvent> begin(const RaceView& view) {
  const std::string& wanted = view.last().machine_type;
  if (begins_after_move(view.last())) {
    const std::uint32_t there = view.membership().workers;
    const std::uint32_t missing = view.last().workers - std::min(view.last().workers, there);
    if (missing > 0 && (missing <= refused_machines(view) || view.is_overdue()))
      return {view.settle(wanted, there, no_more_came(there, wanted))};
    if (!has_its_workers(view)) return {};
  }
  if (!is_measured(view.numbers().phases.back())) return {};
  if (auto step = go_on_with_one_type(view)) return {std::move(*step)};
  return decide_next(view);
}

std::vector<RunEvent> next_step(const RaceView& view) {
  const VmStep& last = view.last();
  const bool rests = last.phase == VmPhase::kDismissed || last.phase == VmPhase::kSettled;
  if (rests && is_of_last_step(view))
    if (auto step = go_on_with_one_type(view)) return {std::move(*step)};
  switch (last.phase) {
    case VmPhase::kBegun:
      return begin(view);
    case VmPhase::kAudition:
      return await_candidate(view);
    case VmPhase::kProbing:
      return probe(view, last.worker);
    case VmPhase::kDismissed:
      return has_its_workers(view) ? decide_next(view) : std::vector<RunEvent>{};
    case VmPhase::kTrying:
    case VmPhase::kMoving:
      return await_machines(view);
    case VmPhase::kReplacing:
      return await_replacement(view);
    case VmPhase::kSettled:
    case VmPhase::kEnded:
      break;
  }
  return watch(view);
}

// What this process of the job was started with, and the one before was not; empty: nothing.
std::string other_aims(const RunNumbers& numbers) {
  const auto& starts = numbers.starts.latest;
  if (starts.size() < 2) return {};
  const fact::Start& before = starts.end()[-2].fact;
  const fact::Start& now = starts.back().fact;
  const bool is_other_policy = before.policy && now.policy && *before.policy != *now.policy;
  if (now.limits == before.limits) return is_other_policy ? "another policy" : "";
  return is_other_policy ? "another policy and other limits" : "other limits";
}

}  // namespace

VmStep begin_race(const VmRaceSetting& setting, std::uint32_t workers, std::uint32_t batch_size) {
  VmStep step;
  step.machine_type = first_types(setting, workers).front();
  step.workers = workers;
  step.batch_size = batch_size;
  step.reason = fmt::format("begins on {}, of {} types the cheapest for what its cores do",
                            step.machine_type, setting.types.size());
  return step;
}

VmStep begin_elsewhere(const VmRaceSetting& setting, VmStep last) {
  VmStep step = begin_race(setting, last.workers, last.batch_size);
  step.iteration = last.iteration;
  if (last.phase == VmPhase::kEnded) step.phase = VmPhase::kEnded;
  step.reason =
      fmt::format("resumed without {}: goes on with {}", last.machine_type, step.machine_type);
  return step;
}

bool begins_after_move(const VmStep& step) {
  return step.phase == VmPhase::kBegun && (!step.leaving.empty() || step.seconds_low);
}

bool is_race_occasion(const RunEvent& event) {
  const auto* machine = std::get_if<fact::Machine>(&event);
  return is_measurement(event) ||
         (machine != nullptr && machine->change == fact::MachineChange::kLost);
}

std::vector<RunEvent> continue_race(const VmRaceSetting& setting, const RunNumbers& numbers) {
  if (last_step_of(numbers) == nullptr || numbers.phases.empty() || numbers.status) return {};
  return next_step(RaceView(setting, numbers));
}

std::vector<RunEvent> end_race(const RunNumbers& numbers, std::uint32_t workers,
                               std::uint32_t batch_size, const std::string& reason) {
  const VmStep* const last = last_step_of(numbers);
  if (last == nullptr || last->phase == VmPhase::kEnded || last->phase == VmPhase::kSettled)
    return {};
  VmStep step;
  step.iteration = numbers.iterations;
  const VmStep& incumbent = incumbent_of(numbers);
  // An audition for which there will be no machine is no decision about the job.
  const bool goes_on = last->phase == VmPhase::kAudition && workers == incumbent.workers;
  step.phase = goes_on ? VmPhase::kDismissed : VmPhase::kEnded;
  step.machine_type = incumbent.machine_type;
  step.workers = workers;
  step.batch_size = batch_size;
  step.worker = last->worker;
  step.reason = reason;
  return {step};
}

std::vector<RunEvent> resume_race(const RunNumbers& numbers) {
  const VmStep* const last = last_step_of(numbers);
  if (last == nullptr) return {};
  VmStep step = incumbent_of(numbers);
  step.iteration = numbers.iterations;
  step.leaving.clear();
  switch (last->phase) {
    case VmPhase::kAudition:
    case VmPhase::kProbing:
    case VmPhase::kTrying:
    case VmPhase::kMoving:
    case VmPhase::kReplacing:
      step.phase = VmPhase::kDismissed;
      step.worker = last->worker;
      step.share = 0;
      step.reason = "resumed: goes on with what it had before";
      return {step};
    case VmPhase::kSettled:
      if (other_aims(numbers).empty()) return {};
      step.phase = VmPhase::kBegun;
      step.seconds_low.reset();
      step.seconds_high.reset();
      step.reason = fmt::format("resumed with {}: the plan is made again", other_aims(numbers));
      return {step};
    case VmPhase::kBegun:
    case VmPhase::kDismissed:
    case VmPhase::kEnded:
      break;
  }
  return {};
}

}  // namespace scavenger::elastic
