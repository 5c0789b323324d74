#include "elastic/vms/race/race_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "elastic/plan/run_record.h"
#include "elastic/vms/race/deadline_guard.h"
#include "elastic/vms/race/race_lemons.h"
#include "elastic/vms/race/race_plan.h"
#include "elastic/vms/vm_plan.h"
#include "elastic/vms/vm_race_numbers.h"
#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

using fact::VmPhase;
using fact::VmStep;

// The rest of a job that seeks its batch size is planned again when it is so much older.
constexpr double kStretch = 2.0;

bool is_steady(const PhaseNumbers& phase) {
  return phase.iteration_seconds.moments().count() >= kSteadyIterations;
}

// ---- The limit of time. ----

// Of the latest membership with so many workers; nothing: none was measured.
std::optional<double> pace_of(const RunNumbers& numbers, std::uint32_t workers) {
  const auto found =
      std::find_if(numbers.phases.rbegin(), numbers.phases.rend(), [&](const PhaseNumbers& phase) {
        return phase.membership.workers == workers && is_measured(phase);
      });
  if (found == numbers.phases.rend()) return std::nullopt;
  return found->iteration_seconds.moments().mean();
}

std::optional<GuardQuestion> guard_question(const RaceView& view) {
  const RunNumbers& numbers = view.numbers();
  const StopConfig& stop = view.setting().stop;
  const auto left = view.left();
  const VmType* const type = view.type_of(view.last().machine_type);
  if (!(stop.max_seconds > 0.0) || !view.asks_for_spot() || !left || type == nullptr ||
      !type->spot_price || !std::ranges::any_of(numbers.phases, is_measured))
    return std::nullopt;
  GuardQuestion question;
  question.iterations = left->iterations;
  question.log_iterations_spread = left->log_spread;
  question.seconds_left = std::max(0.0, stop.max_seconds - numbers.seconds);
  if (stop.max_cost > 0.0) question.dollars_left = view.money_left();
  question.confidence = view.setting().confidence;
  question.workers = view.last().workers;
  question.iteration_seconds = view.latest_iteration_seconds();
  question.full_iteration_seconds =
      pace_of(numbers, view.last().workers).value_or(question.iteration_seconds);
  question.spot_price = *type->spot_price;
  question.on_demand_price = type->price;
  const auto exposures = spot_exposures(numbers);
  const auto exposure = exposures.find(view.last().machine_type);
  const SpotExposure seen = exposure == exposures.end() ? SpotExposure() : exposure->second;
  question.losses_per_vm_hour = expected_loss_rate(
      type->spot_losses.value_or(VmQuestion().spot_losses_per_hour), seen.losses, seen.vm_hours);
  question.start_seconds = view.start_seconds();
  if (const auto seconds = standstill_seconds(numbers)) question.standstill_seconds = *seconds;
  question.sharing = view.setting().sharing;
  return question;
}

// Members whose machine is still there, as far as the job knows.
std::uint32_t present_workers(const RaceView& view) {
  const auto& changes = view.numbers().machines.latest;
  return static_cast<std::uint32_t>(
      std::ranges::count_if(view.membership().indices, [&](std::uint32_t worker) {
        const auto last = std::find_if(changes.rbegin(), changes.rend(), [&](const auto& timed) {
          return timed.fact.worker == worker;
        });
        return last == changes.rend() || last->fact.change != fact::MachineChange::kLost;
      }));
}

std::optional<VmStep> move_to_on_demand(const RaceView& view) {
  const auto question = guard_question(view);
  if (!question) return std::nullopt;
  const GuardAnswer answer = ask_deadline_guard(*question);
  if (!answer.must_move) return std::nullopt;
  const std::uint32_t workers = view.last().workers;
  const std::uint32_t all = std::min(present_workers(view) + workers, view.membership().batch_size);
  VmStep move = view.step(
      VmPhase::kMoving, view.last().machine_type, all,
      fmt::format(
          "moves to machines on demand: with spot machines what is left would take up to "
          "{} with 90 %, {} remain until the limit of time, and it takes up to {} on demand",
          format_duration(answer.spot.seconds.q90), format_duration(question->seconds_left),
          format_duration(answer.on_demand.seconds.q90)));
  move.spot = false;
  return move;
}

// ---- A plan that does not hold. ----

// Its latest stretch has to lie after the plan. What was predicted for other machines may be vague:
// once they were measured, that counts.
bool contradicts_plan(const RaceView& view) {
  const RunNumbers& numbers = view.numbers();
  const PhaseNumbers& phase = numbers.phases.back();
  const VmStep& last = view.last();
  if (!last.seconds_low || !last.seconds_high || !is_steady(phase) ||
      numbers.iterations < last.iteration + kSteadyIterations ||
      numbers.seconds - view.last_time() < 2.0 * LatestSeries::kSeconds ||
      numbers.seconds < kShortStretch * view.last_time() ||
      phase.membership.workers != last.workers || phase.membership.batch_size != last.batch_size)
    return false;
  const double pace = view.latest_iteration_seconds();
  const auto is_outside = [pace](double low, double high) { return pace < low || pace > high; };
  const PaceBand measured = band_around(phase.iteration_seconds.moments().mean());
  const bool was_predicted = phase.membership.first_iteration >= last.iteration;
  return is_outside(*last.seconds_low, *last.seconds_high) ||
         (was_predicted && is_outside(measured.low, measured.high));
}

bool is_time_for_batches(const RaceView& view) {
  return !view.setting().batch_sizes.empty() &&
         view.membership().batch_size == view.last().batch_size &&
         view.membership().workers == view.last().workers &&
         is_measured(view.numbers().phases.back()) &&
         view.numbers().seconds >= kStretch * view.last_time();
}

}  // namespace

std::vector<RunEvent> watch(const RaceView& view) {
  if (auto step = move_to_on_demand(view)) return {std::move(*step)};
  // Somebody else's decision on K or B ends the search, but not the limit of time.
  if (view.last().phase != VmPhase::kSettled) return {};
  if (auto step = replace_lemon(view)) return {std::move(*step)};
  return contradicts_plan(view) || is_time_for_batches(view) ? decide(view)
                                                             : std::vector<RunEvent>{};
}

}  // namespace scavenger::elastic
