#include "elastic/vms/race/race_lemons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "elastic/plan/lemon.h"
#include "elastic/plan/slow_machines.h"
#include "elastic/vms/vm_plan.h"
#include "elastic/vms/vm_race_numbers.h"

namespace scavenger::elastic {
namespace {

using fact::VmPhase;
using fact::VmStep;

// A replacement has to save this share of what is left, with what it costs.
constexpr double kReplacementMargin = 0.02;

// Whether somebody was asked for in place of its present machine before.
bool was_to_be_replaced(const RaceView& view, std::uint32_t worker) {
  const double since = machine_begin(view.numbers(), worker, view.numbers().seconds);
  return std::ranges::any_of(view.numbers().vm_steps.latest, [&](const Timed<VmStep>& timed) {
    return timed.time >= since && timed.fact.phase == VmPhase::kReplacing &&
           timed.fact.worker == worker;
  });
}

// A job that has settled wants its present membership to show it, since what it has measured before
// may be long ago.
std::optional<Lemon> present_lemon(const RaceView& view) {
  const RunNumbers& numbers = view.numbers();
  if (numbers.phases.empty()) return std::nullopt;
  const bool has_settled = view.last().phase == VmPhase::kSettled;
  if (has_settled && numbers.phases.back().iteration_seconds.moments().count() < kSteadyIterations)
    return std::nullopt;
  const auto& members = numbers.phases.back().membership.indices;
  std::vector<WorkerTime> times;
  std::map<std::uint32_t, std::uint64_t> iterations;  // measured, by worker
  for (const MachineTime& one : machine_times(numbers)) {
    if (one.type != view.incumbent().machine_type || std::ranges::count(members, one.worker) == 0 ||
        one.since != machine_begin(numbers, one.worker, numbers.seconds))
      continue;
    times.push_back({one.worker, one.share, one.seconds.mean, one.seconds.standard_error});
    iterations[one.worker] += one.iterations;
  }
  auto lemon = find_lemon(times, perfmodel::SpeedVariance().between_vms);
  if (lemon && iterations.at(lemon->worker) < kSteadyIterations) return std::nullopt;
  return lemon;
}

// Time, cost or their product of what is left: now, and with another machine in its place.
double figure(Policy policy, double seconds, double dollars) {
  if (policy == Policy::kMinimumTime) return seconds;
  return policy == Policy::kMinimumCost ? dollars : std::sqrt(seconds * dollars);
}

// The share of an iteration that an alike machine in the place of this one would save.
double saving_of(const RaceView& view, const Lemon& lemon) {
  const auto& phases = view.numbers().phases;
  const auto phase = std::find_if(phases.rbegin(), phases.rend(), [&](const PhaseNumbers& one) {
    return is_measured(one) && std::ranges::count(one.membership.indices, lemon.worker) > 0;
  });
  if (phase == phases.rend()) return 0.0;
  return saving_without_slow(*phase, lemon.worker, lemon.slowdown, view.setting().sharing);
}

struct Replacement {
  Lemon lemon;
  double start_dollars = 0.0;  // of the other machine
  double saving = 0.0;         // share of what is left
};

// If another machine in the place of a slow one can be had, was not asked for before, and repays
// its start.
std::optional<Replacement> find_replacement(const RaceView& view) {
  const std::uint32_t workers = view.incumbent().workers;
  const VmType* const type = view.type_of(view.incumbent().machine_type);
  if (type == nullptr || (type->max_count && *type->max_count <= workers)) return std::nullopt;
  for (const auto& [time, step] : view.numbers().vm_steps.latest)
    if (step.phase == VmPhase::kReplacing && view.numbers().seconds < kShortStretch * time)
      return std::nullopt;
  const auto lemon = present_lemon(view);
  if (!lemon || !view.is_there(lemon->worker) || was_to_be_replaced(view, lemon->worker))
    return std::nullopt;
  const double price = view.asks_for_spot() ? type->spot_price.value_or(type->price) : type->price;
  const double seconds = view.likely_iterations_left() * view.latest_iteration_seconds();
  const double dollars = seconds / 3600.0 * price * workers;
  const double start = view.start_seconds() / 3600.0 * price;
  const double saving = saving_of(view, *lemon);
  const double standstill =  // as the other one joins and the slow one leaves
      standstill_seconds(view.numbers()).value_or(VmQuestion().standstill_seconds);
  const double less = seconds * (1.0 - saving) + standstill;
  const Policy policy = view.setting().policy;
  if (figure(policy, less, less / 3600.0 * price * workers + start) >
      (1.0 - kReplacementMargin) * figure(policy, seconds, dollars))
    return std::nullopt;
  return Replacement{*lemon, start, saving};
}

// The phase of the step before the one that goes on.
VmPhase phase_before(const RaceView& view) {
  const auto& steps = view.numbers().vm_steps.latest;
  return steps.size() < 2 ? VmPhase::kSettled : steps[steps.size() - 2].fact.phase;
}

}  // namespace

std::vector<SlowMachine> slow_machines(const RaceView& view) {
  std::vector<SlowMachine> slow = slow_machines_of_run(view.numbers());
  std::erase_if(slow, [&](const SlowMachine& one) {
    return view.is_there(one.worker) && one.is_at(view.numbers().seconds);
  });
  if (const auto found = find_replacement(view))
    slow.push_back({found->lemon.worker,
                    machine_begin(view.numbers(), found->lemon.worker, view.numbers().seconds),
                    std::numeric_limits<double>::infinity(), found->lemon.slowdown});
  return slow;
}

std::optional<VmStep> replace_lemon(const RaceView& view) {
  const std::uint32_t workers = view.incumbent().workers;
  if (view.membership().workers != workers || workers >= view.membership().batch_size)
    return std::nullopt;
  const auto found = find_replacement(view);
  if (!found) return std::nullopt;
  const std::string& type = view.incumbent().machine_type;
  VmStep step = view.step(
      VmPhase::kReplacing, type, workers + 1,
      fmt::format("worker {} computes {:.2f} times as long as the others of its type: another {} "
                  "is asked for, whose start costs ${:.2g} and saves {:.0f} % of what is left",
                  found->lemon.worker, found->lemon.slowdown, type, found->start_dollars,
                  100.0 * found->saving));
  step.worker = found->lemon.worker;
  return step;
}

std::vector<RunEvent> await_replacement(const RaceView& view) {
  const VmStep& last = view.last();
  const auto end = [&](bool leaves, const std::string& reason) {
    VmStep step = view.settle(last.machine_type, view.incumbent().workers, reason);
    if (phase_before(view) == VmPhase::kSettled) {
      step.seconds_low = view.incumbent().seconds_low;
      step.seconds_high = view.incumbent().seconds_high;
    } else {
      step.phase = VmPhase::kDismissed;  // the search for the type goes on
      step.worker = last.worker;
    }
    if (leaves) step.leaving.push_back(last.worker);
    return std::vector<RunEvent>{step};
  };
  if (was_lost_since(view.numbers(), last.worker, view.last_time()))
    return end(false, fmt::format("worker {}, which was slow, was lost", last.worker));
  if (view.membership().workers >= last.workers)
    return end(view.is_there(last.worker),
               fmt::format("another {} has come, and worker {}, which was slow, leaves",
                           last.machine_type, last.worker));
  if (view.is_overdue())
    return end(false, fmt::format("keeps worker {}, which is slow: no other {} came", last.worker,
                                  last.machine_type));
  return {};
}

}  // namespace scavenger::elastic
