#include "elastic/vms/race/race_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "elastic/vms/race/audition_shares.h"
#include "elastic/vms/race/race_batches.h"
#include "elastic/vms/race/race_lemons.h"
#include "elastic/vms/race/race_offers.h"
#include "elastic/vms/race/race_trials.h"
#include "elastic/vms/vm_plan.h"
#include "elastic/vms/vm_predictor.h"
#include "elastic/vms/vm_race_numbers.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

using fact::VmPhase;
using fact::VmStep;

// A move has to save this share of what is left, with what it costs.
constexpr double kMargin = 0.05;
// Auditions take their time at the pace, and at the price, of where the job is. A move that saves
// this share comes before the next one.
constexpr double kMarginOfMoveBefore = 0.5;
// By how much seconds per iteration may depart from what was planned with before the plan counts as
// contradicted.
constexpr double kTolerance = 1.25;
constexpr double kDeviations90 = 1.645;
// What a trial has to be expected to gain beyond its price, as a share of what is left.
constexpr double kLeastGainOfTrial = 0.02;
// By how much a trial has to beat an audition, which tells more, and harms less if the type is bad.
constexpr double kMarginOfTrial = 0.01;
constexpr double kAuditionIterations = kSharesOfAudition * kTrialIterations;

// Gain and price are expected, and shares of what is left of the job if it stays.
struct Trial {
  const VmRow* row = nullptr;
  double gain = 0.0;
  double price = 0.0;
};

// Null if there is none of this name.
const VmType* type_named(const std::vector<VmType>& types, const std::string& name) {
  const auto found =
      std::ranges::find_if(types, [&](const VmType& type) { return type.features.name == name; });
  return found == types.end() ? nullptr : &*found;
}

// Empty: nothing beside where the job is.
std::string known_so_far(const RaceView& view, const KnownModel& known) {
  std::set<std::string> measured, earlier;
  for (const auto* rows : {&known.record.times, &known.record.compute})
    for (const perfmodel::TimeRow& row : *rows)
      (row.job == kThisJob ? measured : earlier).insert(row.machine);
  measured.erase(view.incumbent().machine_type);
  std::string text;
  if (!measured.empty())
    text = fmt::format("{} other {} measured", measured.size(),
                       measured.size() == 1 ? "type was" : "types were");
  if (!earlier.empty())
    text += fmt::format("{}{} {} known from earlier jobs", text.empty() ? "" : ", and ",
                        earlier.size(), earlier.size() == 1 ? "type is" : "types are");
  return text;
}

// How often the job settled on these machines, or tried them.
std::ptrdiff_t rests_on(const RaceView& view, const VmRow& row) {
  return std::ranges::count_if(view.numbers().vm_steps.latest, [&](const auto& timed) {
    const VmStep& step = timed.fact;
    const bool is_rest = step.phase == VmPhase::kBegun || step.phase == VmPhase::kSettled;
    return is_rest && step.machine_type == row.base().type && step.workers == row.vms() &&
           step.batch_size == row.batch;
  });
}

// Nothing is tried twice because it may be better, even if what was measured there was lost, or
// says nothing of the type.
bool was_trained_on(const RaceView& view, const VmRow& row) {
  return row.evidence == VmEvidence::kMeasured || rests_on(view, row) > 0;
}

// One plan of the rest of the job.
class Choice final {
 public:
  Choice(const RaceView& view, KnownModel known)
      : view_(view),
        known_(std::move(known)),
        types_(offered_types(view)),
        asked_(question()),
        predictor_(known_, types_, asked_),
        stay_(staying()),
        plan_(make_vm_plan(known_, types_, asked_)) {}

  std::vector<RunEvent> next() const {
    const std::optional<VmProbe> probe = stay_ ? next_probe() : std::nullopt;
    if (!probe || !leaves_money(*probe)) return choose();
    if (const VmRow* const better = much_better())
      return move_to(*better,
                     figures(*better) + ", and further auditions cost less" + odds(*better));
    const std::optional<Trial> trial = worthwhile_trial();
    return trial && is_cheaper(*trial, *probe) ? try_out(*trial) : next_audition(*probe);
  }

 private:
  VmQuestion question() const;
  double spent_on_auditions() const;
  std::optional<VmRow> staying() const;
  bool leaves_money(const VmProbe& probe) const;
  bool keeps_limits_better(const VmRow& row) const;
  std::optional<VmProbe> next_probe() const;
  std::string expectation(const VmProbe& probe) const;
  std::vector<RunEvent> next_audition(const VmProbe& probe) const;
  const VmRow* best_tried() const;
  bool saves(const VmRow& row, double share) const;
  const VmRow* much_better() const;
  bool is_trial(const VmRow& row) const;
  bool may_be_tried(const VmRow& row) const;
  Trial trial_of(const VmRow& row) const {
    return {
        &row, trial_gain(row, *stay_, plan_.policy, predictor_.model()),
        trial_price(row, *stay_, plan_.policy, asked_.start_seconds, asked_.running->iterations)};
  }
  bool is_cheaper(const Trial& trial, const VmProbe& probe) const;
  std::optional<Trial> worthwhile_trial() const;
  std::vector<RunEvent> try_out(const Trial& trial) const;
  std::vector<RunEvent> choose() const;
  std::vector<RunEvent> stay(const std::string& reason) const;
  std::vector<RunEvent> move_to(const VmRow& row, const std::string& reason) const;
  std::string figures(const VmRow& row) const;
  std::string odds(const VmRow& row) const;
  std::string facts() const;

  const RaceView& view_;
  const KnownModel known_;
  const std::vector<VmType> types_;
  const VmQuestion asked_;
  const VmPredictor predictor_;
  const std::optional<VmRow> stay_;  // what finishing as it is takes
  const VmPlan plan_;
};

VmQuestion Choice::question() const {
  const VmRaceSetting& setting = view_.setting();
  const RunNumbers& numbers = view_.numbers();
  const std::uint32_t batch = view_.membership().batch_size;
  VmQuestion question;
  question.policy = setting.policy;
  question.confidence = setting.confidence;
  question.sharing = setting.sharing;
  question.variance.dead_band = setting.dead_band;
  // Old and new workers train together for a moment, with a sample each.
  const std::uint32_t room = batch - std::min(batch - 1, view_.incumbent().workers);
  question.most_vms = std::max(1U, std::min(setting.max_vms, room));
  VmQuestion::Running running;
  running.batch = batch;
  running.iterations = view_.likely_iterations_left();
  if (const auto left = view_.left()) running.log_iterations_spread = left->log_spread;
  running.others = other_batches(view_);
  running.present = view_.incumbent().machine_type;
  running.workers = view_.incumbent().workers;
  if (const VmType* const type = type_named(types_, running.present))
    running.price_per_hour = type->price * running.workers;
  running.tried = view_.tried();
  for (const auto* rows : {&known_.record.times, &known_.record.compute})
    for (const perfmodel::TimeRow& row : *rows) running.tried.insert(row.machine);
  question.running = running;
  for (const VmType& type : setting.types) question.other_types.push_back(type.features);
  question.start_seconds = view_.start_seconds();
  if (const auto seconds = standstill_seconds(numbers)) question.standstill_seconds = *seconds;
  question.probe_seconds = kAuditionIterations * view_.latest_iteration_seconds();
  if (setting.stop.max_seconds > 0.0)
    question.limits.max_seconds = std::max(1.0, setting.stop.max_seconds - numbers.seconds);
  if (setting.stop.max_cost > 0.0) question.limits.max_cost = view_.money_left();
  if (setting.profile_budget)
    question.profile_budget = std::max(1e-9, *setting.profile_budget - spent_on_auditions());
  return question;
}

double Choice::spent_on_auditions() const {
  double dollars = 0.0, since = -1.0, price = 0.0;
  for (const auto& timed : view_.numbers().vm_steps.latest) {
    if (since >= 0.0) dollars += (timed.time - since) / 3600.0 * price;
    const bool goes_on =
        timed.fact.phase == VmPhase::kAudition || timed.fact.phase == VmPhase::kProbing;
    since = goes_on ? timed.time : -1.0;
    if (const VmType* const type = type_named(types_, timed.fact.machine_type)) price = type->price;
  }
  return dollars;
}

std::optional<VmRow> Choice::staying() const {
  const VmType* const type = type_named(types_, view_.incumbent().machine_type);
  if (type == nullptr) return std::nullopt;
  const std::array parts = {VmPart{type, false, static_cast<double>(view_.incumbent().workers)}};
  return predictor_.row(parts, view_.membership().batch_size);
}

// Enough to end where the job is. If what it has does not suffice for that anyway, enough to end
// where the probe may lead.
bool Choice::leaves_money(const VmProbe& probe) const {
  if (!asked_.limits.max_cost) return true;
  const double left = *asked_.limits.max_cost - probe.dollars;
  const VmRow& row = plan_.rows[probe.row];
  return left >= stay_->outcome.cost.q90 ||
         (keeps_limits_better(row) && left >= row.outcome.cost.q50);
}

// So much that an audition is worth what it takes away from staying.
bool Choice::keeps_limits_better(const VmRow& row) const {
  constexpr double kTimes = 2.0;
  return stay_->outcome.within_both < plan_.confidence &&
         row.outcome.within_both > kTimes * stay_->outcome.within_both + kMargin;
}

// The plan's next probe. If the best plan is of a type that was not tried, that type: the plan
// holds it against the next best, but the job has to choose between it and staying. If no plan
// keeps the limits, the best one is what does it likeliest.
std::optional<VmProbe> Choice::next_probe() const {
  const std::optional<std::size_t> place = plan_.choice ? plan_.choice : plan_.nearest;
  if (!place) return std::nullopt;
  const VmRow& best = plan_.rows[*place];
  if (view_.incumbent().workers >= view_.membership().batch_size)
    return std::nullopt;  // no sample for it
  if (asked_.running->tried.contains(best.base().type)) return plan_.probe;
  VmProbe probe{*place, 0.0, 0.0};
  probe.dollars = predictor_.probe_dollars(best.base());
  probe.gain = 1.0 - policy_figure(best, plan_.policy) / policy_figure(*stay_, plan_.policy);
  const double cost = stay_->outcome.cost.q50;
  const double budget = asked_.profile_budget.value_or(kProbeShare * cost);
  const bool repays =
      (probe.gain > kMargin && probe.gain * cost > probe.dollars) || keeps_limits_better(best);
  return repays && probe.dollars <= budget ? std::optional(probe) : plan_.probe;
}

std::string Choice::expectation(const VmProbe& probe) const {
  const VmRow& row = plan_.rows[probe.row];
  if (!keeps_limits_better(row))
    return fmt::format("{:.0f} % are expected of it", 100.0 * probe.gain);
  return fmt::format("with it the limits may hold with {:.0f} %, instead of {:.0f} %",
                     100.0 * row.outcome.within_both, 100.0 * stay_->outcome.within_both);
}

// After an audition its worker leaves first, so that two never run beside each other.
std::vector<RunEvent> Choice::next_audition(const VmProbe& probe) const {
  const std::string& type = plan_.rows[probe.row].base().type;
  const VmStep& last = view_.last();
  if (last.phase == VmPhase::kProbing || last.phase == VmPhase::kAudition)
    return dismiss(view_, last.worker,
                   fmt::format("{} was measured; the next one is {}", last.machine_type, type));
  // Who is missing will come back, or be given up, which ends the race. Until then nobody can
  // tell which worker the audition's machine would get.
  const std::uint32_t workers = view_.incumbent().workers;
  if (view_.membership().workers != workers) return {};
  VmStep begun = view_.step(VmPhase::kAudition, type, workers + 1,
                            fmt::format("auditions one {}: it costs about ${:.2g}, and {}", type,
                                        probe.dollars, expectation(probe)));
  while (view_.is_there(begun.worker)) ++begun.worker;  // the index that a new worker gets
  begun.share =
      static_cast<std::uint32_t>(first_probe_share(view_.membership().batch_size, workers));
  return {begun};
}

// The best plan of a type that was tried; if none of them keeps the limits, the one that does it
// likeliest. Null if there is none.
const VmRow* Choice::best_tried() const {
  const VmRow* best = nullptr;
  for (const VmRow& row : plan_.rows) {
    if (row.evidence < VmEvidence::kProfiled) continue;
    if (row.outcome.within_both >= plan_.confidence) return &row;
    if (best == nullptr || row.outcome.within_both > best->outcome.within_both) best = &row;
  }
  return best;
}

// Whether a move there saves this share of what is left. While machines start, those of before are
// paid for, too.
bool Choice::saves(const VmRow& row, double share) const {
  const bool starts =
      row.base().type != view_.incumbent().machine_type || row.vms() > view_.incumbent().workers;
  const double again =
      starts ? asked_.start_seconds / std::max(1.0, stay_->outcome.seconds.q50) : 0.0;
  return policy_figure(row, plan_.policy) * (1.0 + again) <
         (1.0 - share) * policy_figure(*stay_, plan_.policy);
}

// Where the job is to be while it auditions the next type; null: where it is.
const VmRow* Choice::much_better() const {
  const VmRow* const best = best_tried();
  return best != nullptr && best->base().type != view_.incumbent().machine_type &&
                 best->outcome.within_both >= stay_->outcome.within_both &&
                 saves(*best, kMarginOfMoveBefore)
             ? best
             : nullptr;
}

// Whether the rest is to be planned again with what is measured there. If it was calculated from
// what a slow machine did, once: the next machines may have a slow one among them, too.
bool Choice::is_trial(const VmRow& row) const {
  const auto is_of_row = [&](const perfmodel::TimeRow& time) {
    return time.machine == row.base().type && time.workers == row.vms() &&
           time.batch_size == row.batch;
  };
  return !was_trained_on(view_, row) ||
         (rests_on(view_, row) < 2 && std::ranges::any_of(known_.calculated, is_of_row));
}

// Of a type of which nothing is known but what the catalogue says: once, and within the budget.
bool Choice::may_be_tried(const VmRow& row) const {
  if (row.evidence >= VmEvidence::kProfiled) return true;
  const auto& budget = asked_.profile_budget;
  return !asked_.running->tried.contains(row.base().type) &&
         (!budget || trial_dollars(row, asked_.start_seconds) <= *budget);
}

// While an audition lasts, the job does not have yet what it may gain.
bool Choice::is_cheaper(const Trial& trial, const VmProbe& probe) const {
  const double lasts = kAuditionIterations / asked_.running->iterations;
  const double audition =
      lasts * trial.gain + probe.dollars / std::max(1e-9, stay_->outcome.cost.q50);
  return trial.price + kMarginOfTrial < audition;
}

// The machines whose trial is expected to gain most: they may not be better, but nobody knows. Of a
// type that was not auditioned, too: an audition takes its iterations at the pace of the present
// machines, and a trial at that of the new ones. Nothing: none repays itself.
std::optional<Trial> Choice::worthwhile_trial() const {
  std::optional<Trial> best;
  double most = kLeastGainOfTrial;
  for (const VmRow& row : plan_.rows) {
    if (was_trained_on(view_, row) || !may_be_tried(row) || row.is_mix() ||
        row.batch != stay_->batch ||
        row.outcome.within_both < std::min(plan_.confidence, stay_->outcome.within_both))
      continue;
    const Trial trial = trial_of(row);
    if (trial.gain - trial.price <= most) continue;
    most = trial.gain - trial.price;
    best = trial;
  }
  return best;
}

std::vector<RunEvent> Choice::try_out(const Trial& trial) const {
  const std::string known = known_so_far(view_, known_);
  return move_to(
      *trial.row,
      fmt::format("{}, which may be better: a trial is expected to gain {:.0f} %{}{}",
                  figures(*trial.row), 100.0 * trial.gain, known.empty() ? "" : "; ", known));
}

// The best plan of a type that was tried, if moving there, or a trial there, is worth it.
std::vector<RunEvent> Choice::choose() const {
  const VmRow* const best = best_tried();
  if (best == nullptr || !stay_) return stay("stays: " + facts());
  const bool breaks = stay_->outcome.within_both < plan_.confidence &&
                      best->outcome.within_both > stay_->outcome.within_both + kMargin;
  const bool is_same = best->base().type == view_.incumbent().machine_type &&
                       best->vms() == view_.incumbent().workers && best->batch == stay_->batch;
  const bool is_worth_it = !is_same && (breaks || saves(*best, kMargin));
  const std::optional<Trial> trial = is_worth_it ? std::nullopt : worthwhile_trial();
  if (trial) return try_out(*trial);
  if (is_same) return stay("stays, as the best: " + facts() + odds(*stay_));
  if (!is_worth_it)
    return stay(fmt::format("stays: {} would save less than {:.0f} %; {}{}", name_text(*best),
                            100.0 * kMargin, facts(), odds(*stay_)));
  return move_to(*best, fmt::format("{}; {}{}", figures(*best), facts(), odds(*best)));
}

// Of the limits, if there are any.
std::string Choice::odds(const VmRow& row) const {
  if (!asked_.limits.max_seconds && !asked_.limits.max_cost) return {};
  return fmt::format("; the limits hold with {:.0f} %", 100.0 * row.outcome.within_both);
}

std::string Choice::figures(const VmRow& row) const {
  return fmt::format("{}: ${:.3g} and {:.0f} s are left, against ${:.3g} and {:.0f} s",
                     name_text(row), row.outcome.cost.q50, row.outcome.seconds.q50,
                     stay_->outcome.cost.q50, stay_->outcome.seconds.q50);
}

std::vector<RunEvent> Choice::stay(const std::string& reason) const {
  VmStep end = view_.settle(view_.incumbent().machine_type, view_.incumbent().workers, reason);
  const PaceBand band = band_around(view_.latest_iteration_seconds());
  end.seconds_low = band.low;
  end.seconds_high = band.high;
  return {end};
}

std::vector<RunEvent> Choice::move_to(const VmRow& row, const std::string& reason) const {
  const std::string& type = row.base().type;
  const auto vms = static_cast<std::uint32_t>(row.vms());
  const auto batch = static_cast<std::uint32_t>(row.batch);
  const auto set_plan = [&](VmStep& step) {
    const double reach = kTolerance * std::exp(kDeviations90 * std::sqrt(row.log_variance));
    step.batch_size = batch;
    step.seconds_low = row.iteration_seconds / reach;
    step.seconds_high = row.iteration_seconds * reach;
  };
  const bool tries = is_trial(row);
  if (type == view_.incumbent().machine_type) {
    VmStep end = view_.settle(type, vms, (tries ? "tries " : "") + reason);
    if (tries) end.phase = VmPhase::kBegun;
    set_plan(end);
    return {end};
  }
  const std::uint32_t others = view_.membership().workers - view_.count_of(type);
  // Each of them needs a sample. What does not come is not waited for.
  const std::uint32_t all = std::min(
      {others + std::max(vms, view_.count_of(type)), batch, view_.membership().batch_size});
  VmStep move =
      view_.step(tries ? VmPhase::kTrying : VmPhase::kMoving, type, all, "moves to " + reason);
  move.worker = view_.last().worker;
  set_plan(move);
  return {move};
}

std::string Choice::facts() const {
  std::string known = known_so_far(view_, known_);
  if (!known.empty()) return known;
  return fmt::format(
      "no audition is expected to repay itself in the {:.0f} iterations that are left at most",
      asked_.running->iterations);
}

// What earlier jobs of this model have measured of types that this job has not.
void add_stored_machines(const RaceView& view, KnownModel& known) {
  const perfmodel::ModelRecord* const stored = stored_model(view.setting(), view.numbers());
  if (stored == nullptr) return;
  std::set<std::string> own;
  for (const perfmodel::TimeRow& row : known.record.compute) own.insert(row.machine);
  const auto add = [&](const std::vector<perfmodel::TimeRow>& from,
                       std::vector<perfmodel::TimeRow>& to) {
    for (const perfmodel::TimeRow& row : from)
      if (!own.contains(row.machine) && view.type_of(row.machine) != nullptr) to.push_back(row);
  };
  add(stored->times, known.record.times);
  add(stored->compute, known.record.compute);
}

}  // namespace

PaceBand band_around(double seconds) {
  return {seconds / kTolerance, seconds * kTolerance};
}

std::vector<RunEvent> dismiss(const RaceView& view, std::uint32_t worker, std::string reason) {
  VmStep end = view.step(VmPhase::kDismissed, view.incumbent().machine_type,
                         view.incumbent().workers, std::move(reason));
  end.worker = worker;
  end.leaving = {worker};
  return {end};
}

std::vector<RunEvent> decide(const RaceView& view) {
  KnownModel known = measured_machines(view.numbers(), slow_machines(view), view.setting().sharing);
  if (known.record.times.empty()) return {};
  add_stored_machines(view, known);
  known.state_is_elsewhere = view.setting().state_is_elsewhere;
  try {
    return Choice(view, std::move(known)).next();
  } catch (const Error& error) {
    return {view.settle(view.incumbent().machine_type, view.incumbent().workers,
                        std::string("stays: ") + error.what())};
  }
}

}  // namespace scavenger::elastic
