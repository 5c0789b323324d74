#include "elastic/vms/race/race_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "elastic/vms/race/target_left.h"
#include "elastic/vms/vm_race_numbers.h"

namespace scavenger::elastic {
namespace {

using fact::VmPhase;
using fact::VmStep;

constexpr double kLongestWait = 300.0;  // for machines that were asked for
// Before one was seen: of a machine on request.
constexpr double kUsualStartSeconds = 90.0;

bool is_rest(VmPhase phase) {
  return phase == VmPhase::kBegun || phase == VmPhase::kSettled || phase == VmPhase::kEnded;
}

// Until a limit of iterations or epochs; nothing: there is none.
std::optional<double> iterations_to_limit(const StopConfig& stop, const RunNumbers& numbers) {
  double most = std::numeric_limits<double>::infinity();
  if (stop.max_iterations > 0) most = static_cast<double>(stop.max_iterations);
  if (stop.max_epochs > 0.0) {
    // Batches before may have had another size.
    const double samples = stop.max_epochs * static_cast<double>(numbers.start.samples_per_epoch) -
                           static_cast<double>(numbers.position);
    most = std::min(most, static_cast<double>(numbers.iterations) +
                              samples / numbers.phases.back().membership.batch_size);
  }
  if (!std::isfinite(most)) return std::nullopt;
  return std::max(1.0, most - static_cast<double>(numbers.iterations));
}

}  // namespace

const VmStep* last_step_of(const RunNumbers& numbers) {
  return numbers.vm_steps.latest.empty() ? nullptr : &numbers.vm_steps.latest.back().fact;
}

const VmStep& incumbent_of(const RunNumbers& numbers) {
  const auto& steps = numbers.vm_steps.latest;
  const auto found = std::find_if(steps.rbegin(), steps.rend(), [](const Timed<VmStep>& timed) {
    return is_rest(timed.fact.phase);
  });
  return found == steps.rend() ? steps.front().fact : found->fact;
}

RaceView::RaceView(const VmRaceSetting& setting, const RunNumbers& numbers)
    : setting_(setting),
      numbers_(numbers),
      last_(*last_step_of(numbers)),
      last_time_(numbers.vm_steps.latest.back().time),
      incumbent_(incumbent_of(numbers)),
      membership_(numbers.phases.back().membership),
      types_(machine_types_at(numbers, numbers.seconds)),
      on_spot_(spot_workers_at(numbers, numbers.seconds)) {}

const VmType* RaceView::type_of(const std::string& name) const {
  const auto found = std::ranges::find_if(
      setting_.types, [&](const VmType& type) { return type.features.name == name; });
  return found == setting_.types.end() ? nullptr : &*found;
}

VmStep RaceView::step(VmPhase phase, std::string type, std::uint32_t workers,
                      std::string reason) const {
  VmStep step;
  step.iteration = numbers_.iterations;
  step.phase = phase;
  step.machine_type = std::move(type);
  step.workers = workers;
  step.batch_size = last_.batch_size;
  step.spot = last_.spot;
  step.reason = std::move(reason);
  return step;
}

VmStep RaceView::settle(const std::string& type, std::uint32_t workers, std::string reason) const {
  VmStep end = step(VmPhase::kSettled, type, workers, std::move(reason));
  // What was asked for on demand did not come: then spot machines go on.
  if (last_.phase == VmPhase::kMoving && count_of(last_.machine_type) == 0)
    end.spot = incumbent_.spot;
  const bool on_demand = !end.spot.value_or(true);
  for (const std::uint32_t worker : membership_.indices) {
    if (!types_.contains(worker) || is_wanted(worker, type, on_demand)) continue;
    // A spot machine goes only if another one has taken its place.
    const std::size_t staying = membership_.indices.size() - end.leaving.size();
    if (!is_of(worker, type) || staying > workers) end.leaving.push_back(worker);
  }
  if (last_.phase == VmPhase::kAudition || last_.phase == VmPhase::kProbing)
    end.worker = last_.worker;
  return end;
}

bool RaceView::is_overdue() const {
  return numbers_.seconds - last_time_ > kLongestWait;
}

bool RaceView::is_there(std::uint32_t worker) const {
  return std::ranges::count(membership_.indices, worker) > 0;
}

bool RaceView::is_of(std::uint32_t worker, const std::string& type) const {
  return is_wanted(worker, type, false);
}

bool RaceView::is_wanted(std::uint32_t worker, const std::string& type, bool on_demand) const {
  const auto found = types_.find(worker);
  if (found == types_.end() || found->second != type) return false;
  return !on_demand || !on_spot_.contains(worker);
}

std::uint32_t RaceView::count_of(const std::string& type) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      membership_.indices,
      [&](std::uint32_t worker) { return is_wanted(worker, type, !last_.spot.value_or(true)); }));
}

std::uint32_t RaceView::share_of(std::uint32_t worker) const {
  for (std::size_t rank = 0; rank < membership_.indices.size(); ++rank)
    if (membership_.indices[rank] == worker) return membership_.shares[rank];
  return 0;
}

std::set<std::string> RaceView::tried() const {
  std::set<std::string> tried = {incumbent_.machine_type};
  for (const auto& timed : numbers_.vm_steps.latest)
    if (timed.fact.phase == VmPhase::kAudition || timed.fact.phase == VmPhase::kTrying)
      tried.insert(timed.fact.machine_type);
  return tried;
}

double RaceView::audition_time() const {
  double time = 0.0;
  for (const auto& timed : numbers_.vm_steps.latest)
    if (timed.fact.phase == VmPhase::kAudition) time = timed.time;
  return time;
}

std::optional<RaceView::Left> RaceView::left() const {
  const auto limit = iterations_to_limit(setting_.stop, numbers_);
  std::span<const perfmodel::EpochRow> earlier;
  if (const auto* const stored = stored_model(setting_, numbers_)) earlier = stored->epochs;
  const auto epochs = epochs_to_target(numbers_, earlier);
  if (!epochs) return limit ? std::optional(Left{*limit, 0.0}) : std::nullopt;
  const double iterations =
      std::max(1.0, epochs->epochs * static_cast<double>(numbers_.start.samples_per_epoch) /
                        membership_.batch_size);
  if (limit && *limit < iterations) return Left{*limit, 0.0};
  return Left{iterations, epochs->log_spread};
}

double RaceView::likely_iterations_left() const {
  if (const auto known = left()) return known->iterations;
  return std::max(static_cast<double>(numbers_.iterations), 60.0 / latest_iteration_seconds());
}

double RaceView::latest_iteration_seconds() const {
  const auto found = std::find_if(numbers_.phases.rbegin(), numbers_.phases.rend(), is_measured);
  if (found == numbers_.phases.rend()) return 1.0;
  const SeriesStatistics& latest = found->latest_iteration_seconds.last();
  return (latest.moments().count() > 0 ? latest : found->iteration_seconds).moments().mean();
}

double RaceView::start_seconds() const {
  return mean_start_seconds(numbers_).value_or(kUsualStartSeconds);
}

// The job ends while it can still pay for a checkpoint and its end (Controller::seconds_to_stop).
double RaceView::money_left() const {
  constexpr double kStopSeconds = 8.0;  // usual, of the present machines
  constexpr double kLeast = 1e-6;
  const VmType* const type = type_of(incumbent_.machine_type);
  const double price = type == nullptr ? 0.0 : type->price * incumbent_.workers;
  return std::max(kLeast, setting_.stop.max_cost - numbers_.bill.cost(numbers_.seconds) -
                              kStopSeconds / 3600.0 * price);
}

}  // namespace scavenger::elastic
