#include "elastic/vms/vm_race.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "elastic/vms/audition_shares.h"
#include "elastic/vms/vm_plan.h"
#include "elastic/vms/vm_predictor.h"
#include "elastic/vms/vm_race_numbers.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

using fact::VmPhase;
using fact::VmStep;

constexpr double kLongestWait = 300.0;  // for machines that were asked for
constexpr double kShareWait = 15.0;     // until a worker has the share that was wished
// A move has to save this share of what is left, with what it costs.
constexpr double kMargin = 0.05;
// Before one was seen: of a machine on request.
constexpr double kUsualStartSeconds = 90.0;

const VmStep* last_of(const RunNumbers& numbers) {
  return numbers.vm_steps.latest.empty() ? nullptr : &numbers.vm_steps.latest.back().fact;
}

// What the job had before the audition or the move that goes on.
const VmStep& incumbent_of(const RunNumbers& numbers) {
  const auto& steps = numbers.vm_steps.latest;
  const auto is_rest = [](const Timed<VmStep>& timed) {
    return timed.fact.phase == VmPhase::kBegun || timed.fact.phase == VmPhase::kSettled ||
           timed.fact.phase == VmPhase::kEnded;
  };
  const auto found = std::find_if(steps.rbegin(), steps.rend(), is_rest);
  return found == steps.rend() ? steps.front().fact : found->fact;
}

// One look at the numbers. Requires a step, and a membership.
// It has more than 25 methods: each is one question that a step of the race asks of the same
// numbers.
class RaceLook final {
 public:
  RaceLook(const VmRaceSetting& setting, const RunNumbers& numbers)
      : setting_(setting),
        numbers_(numbers),
        last_(*last_of(numbers)),
        last_time_(numbers.vm_steps.latest.back().time),
        incumbent_(incumbent_of(numbers)),
        membership_(numbers.phases.back().membership),
        types_(machine_types_at(numbers, numbers.seconds)) {}

  std::vector<RunEvent> next() {
    switch (last_.phase) {
      case VmPhase::kBegun:
        return begin();
      case VmPhase::kAudition:
        return await_candidate();
      case VmPhase::kProbing:
        return probe(last_.worker);
      case VmPhase::kDismissed:
        return membership_.workers == last_.workers || is_overdue() ? decide()
                                                                    : std::vector<RunEvent>{};
      case VmPhase::kMoving:
        return await_machines();
      case VmPhase::kSettled:
      case VmPhase::kEnded:
        break;
    }
    return {};
  }

 private:
  VmStep step(VmPhase phase, std::string type, std::uint32_t workers, std::string reason) const {
    VmStep step;
    step.iteration = numbers_.iterations;
    step.phase = phase;
    step.machine_type = std::move(type);
    step.workers = workers;
    step.batch_size = membership_.batch_size;
    step.reason = std::move(reason);
    return step;
  }

  // If there was no machine of the first type, the job has begun on another one.
  std::vector<RunEvent> begin() const {
    if (!is_measured(numbers_.phases.back())) return {};
    if (count_of(last_.machine_type) > 0) return decide();
    const std::string type = commonest_type(membership_.indices, types_);
    if (type.empty()) return decide();
    return {step(VmPhase::kBegun, type, membership_.workers,
                 fmt::format("goes on with {}: there was no {}", type, last_.machine_type))};
  }

  bool is_overdue() const { return numbers_.seconds - last_time_ > kLongestWait; }
  bool is_there(std::uint32_t worker) const {
    return std::ranges::count(membership_.indices, worker) > 0;
  }
  bool is_of(std::uint32_t worker, const std::string& type) const {
    const auto found = types_.find(worker);
    return found != types_.end() && found->second == type;
  }
  std::uint32_t count_of(const std::string& type) const {
    return static_cast<std::uint32_t>(std::ranges::count_if(
        membership_.indices, [&](std::uint32_t worker) { return is_of(worker, type); }));
  }
  std::set<std::string> tried() const {
    std::set<std::string> tried = {incumbent_.machine_type};
    for (const auto& timed : numbers_.vm_steps.latest)
      if (timed.fact.phase == VmPhase::kAudition) tried.insert(timed.fact.machine_type);
    return tried;
  }

  // ---- An audition. ----

  std::vector<RunEvent> audition(const std::string& type, double dollars, double gain) const {
    const std::uint32_t workers = incumbent_.workers + 1;
    VmStep begun = step(
        VmPhase::kAudition, type, workers,
        fmt::format("auditions one {}: it costs about ${:.2g}, and {:.0f} % are expected of it",
                    type, dollars, 100.0 * gain));
    while (is_there(begun.worker)) ++begun.worker;  // the index that a new worker gets
    begun.share = std::max(1U, membership_.batch_size / (4 * workers));
    return {begun};
  }

  std::vector<RunEvent> dismiss(std::uint32_t worker, std::string reason) const {
    VmStep end =
        step(VmPhase::kDismissed, incumbent_.machine_type, incumbent_.workers, std::move(reason));
    end.worker = worker;
    end.leaving = {worker};
    return {end};
  }

  // Whether its machine was taken away. Who comes in its place is not of its type.
  bool is_gone(std::uint32_t worker) const {
    return was_lost_since(numbers_, worker, audition_time());
  }
  std::vector<RunEvent> dismiss_lost() const {
    return dismiss(last_.worker, fmt::format("the {} was lost", last_.machine_type));
  }

  std::vector<RunEvent> await_candidate() const {
    for (const std::uint32_t worker : membership_.indices) {
      if (!is_of(worker, last_.machine_type)) continue;
      if (worker == last_.worker) return probe(worker);
      VmStep other = step(VmPhase::kProbing, last_.machine_type, last_.workers,
                          fmt::format("the {} is worker {}", last_.machine_type, worker));
      other.worker = worker;
      other.share = last_.share;
      return {other};
    }
    if (is_gone(last_.worker)) return dismiss_lost();
    const auto zones = setting_.zones.find(last_.machine_type);
    if (refusals_since(numbers_, last_.worker, last_time_) >=
        (zones == setting_.zones.end() ? 1 : zones->second))
      return dismiss(last_.worker, fmt::format("no {} can be had", last_.machine_type));
    if (is_overdue()) return dismiss(last_.worker, fmt::format("no {} came", last_.machine_type));
    return {};
  }

  // Since when the last audition goes on.
  double audition_time() const {
    double time = 0.0;
    for (const auto& timed : numbers_.vm_steps.latest)
      if (timed.fact.phase == VmPhase::kAudition) time = timed.time;
    return time;
  }

  std::vector<RunEvent> probe(std::uint32_t worker) const {
    const std::string& type = last_.machine_type;
    if (!is_there(worker))
      return is_overdue() || is_gone(worker) ? dismiss_lost() : std::vector<RunEvent>{};
    // Other shares than were wished come only if there was no room for those.
    if (share_here(worker) != last_.share && numbers_.seconds - last_time_ < kShareWait) return {};
    const std::vector<MeasuredShare> known = measured_shares(numbers_, worker, audition_time());
    const bool here_is_known = std::ranges::any_of(
        known, [&](const MeasuredShare& one) { return one.share == share_here(worker); });
    if (!here_is_known) return {};  // it is being measured
    const std::uint32_t next =
        next_audition_share(known, incumbent_.workers, membership_.batch_size);
    if (next == 0) return decide();
    VmStep further = step(VmPhase::kProbing, type, incumbent_.workers + 1,
                          fmt::format("worker {} took {:.3g} s for {} samples: measures it with {}",
                                      worker, known.back().time.seconds, known.back().share, next));
    further.worker = worker;
    further.share = next;
    return {further};
  }

  std::uint32_t share_here(std::uint32_t worker) const {
    for (std::size_t rank = 0; rank < membership_.indices.size(); ++rank)
      if (membership_.indices[rank] == worker) return membership_.shares[rank];
    return 0;
  }

  // ---- A decision. ----

  // Upper bounds of what is left; nothing: no limit of iterations or epochs is set.
  std::optional<double> iterations_left() const {
    double most = std::numeric_limits<double>::infinity();
    const StopConfig& stop = setting_.stop;
    if (stop.max_iterations > 0) most = static_cast<double>(stop.max_iterations);
    if (stop.max_epochs > 0.0)
      most =
          std::min(most, stop.max_epochs * static_cast<double>(numbers_.start.samples_per_epoch) /
                             membership_.batch_size);
    if (!std::isfinite(most)) return std::nullopt;
    return std::max(1.0, most - static_cast<double>(numbers_.iterations));
  }

  VmQuestion question(double seconds_each) const {
    VmQuestion question;
    question.policy = setting_.policy;
    question.confidence = setting_.confidence;
    question.sharing = setting_.sharing;
    // Old and new workers train together for a moment, with a sample each.
    const std::uint32_t room =
        membership_.batch_size - std::min(membership_.batch_size - 1, incumbent_.workers);
    question.most_vms = std::max(1U, std::min(setting_.max_vms, room));
    VmQuestion::Running running;
    running.batch = membership_.batch_size;
    // Nobody knows: as long again as it has taken, and a minute at least.
    running.iterations = iterations_left().value_or(
        std::max(static_cast<double>(numbers_.iterations), 60.0 / seconds_each));
    running.tried = tried();
    question.running = running;
    question.start_seconds = mean_start_seconds(numbers_).value_or(kUsualStartSeconds);
    question.probe_seconds = kSharesOfAudition * (kMeasuredIterations + 5.0) * seconds_each;
    if (setting_.stop.max_seconds > 0.0)
      question.limits.max_seconds = std::max(1.0, setting_.stop.max_seconds - numbers_.seconds);
    if (setting_.stop.max_cost > 0.0)
      question.limits.max_cost = std::max(1e-6, setting_.stop.max_cost - spent());
    if (setting_.profile_budget)
      question.profile_budget = std::max(1e-9, *setting_.profile_budget - spent_on_auditions());
    return question;
  }

  double spent() const { return numbers_.bill.cost(numbers_.seconds); }
  double spent_on_auditions() const {
    double dollars = 0.0, since = -1.0, price = 0.0;
    for (const auto& timed : numbers_.vm_steps.latest) {
      if (since >= 0.0) dollars += (timed.time - since) / 3600.0 * price;
      const bool goes_on =
          timed.fact.phase == VmPhase::kAudition || timed.fact.phase == VmPhase::kProbing;
      since = goes_on ? timed.time : -1.0;
      for (const VmType& type : setting_.types)
        if (type.features.name == timed.fact.machine_type) price = type.price;
    }
    return dollars;
  }

  // What finishing as it is takes.
  std::optional<VmRow> staying(const VmPredictor& predictor) const {
    for (const VmType& type : setting_.types) {
      if (type.features.name != incumbent_.machine_type) continue;
      const std::array parts = {VmPart{&type, false, static_cast<double>(incumbent_.workers)}};
      return predictor.row(parts, membership_.batch_size);
    }
    return std::nullopt;
  }

  bool leaves_money(const VmQuestion& question, const VmRow& stay, double dollars) const {
    return !question.limits.max_cost ||
           *question.limits.max_cost - dollars >= stay.outcome.cost.q90;
  }

  // Of the last membership that was measured: one that has just begun has nothing to tell.
  double latest_iteration_seconds() const {
    const auto found = std::find_if(numbers_.phases.rbegin(), numbers_.phases.rend(), is_measured);
    return found == numbers_.phases.rend() ? 1.0 : found->iteration_seconds.moments().mean();
  }

  std::vector<RunEvent> decide() const {
    KnownModel known = measured_machines(numbers_);
    if (known.record.times.empty()) return {};
    known.state_is_elsewhere = setting_.state_is_elsewhere;
    VmQuestion asked = question(latest_iteration_seconds());
    try {
      const VmPredictor predictor(known, setting_.types, asked);
      const std::optional<VmRow> stay = staying(predictor);
      const VmPlan plan = make_vm_plan(known, setting_.types, asked);
      const std::optional<VmProbe> probe = stay ? probe_of(plan, *stay, asked) : std::nullopt;
      if (probe && leaves_money(asked, *stay, probe->dollars)) return next_audition(plan, *probe);
      return choose(plan, stay, asked);
    } catch (const Error& error) {
      return settle(incumbent_.machine_type, incumbent_.workers,
                    std::string("stays: ") + error.what());
    }
  }

  // The plan's next probe. If the best plan is of a type that was not tried, that type: the plan
  // holds it against the next best, but the job has to choose between it and staying.
  std::optional<VmProbe> probe_of(const VmPlan& plan, const VmRow& stay,
                                  const VmQuestion& asked) const {
    if (!plan.choice) return std::nullopt;
    const VmRow& best = plan.rows[*plan.choice];
    if (incumbent_.workers >= membership_.batch_size) return std::nullopt;  // no sample for it
    if (asked.running->tried.contains(best.base().type)) return plan.probe;
    VmProbe probe{*plan.choice, 0.0, 0.0};
    probe.dollars =
        (asked.start_seconds + asked.probe_seconds) / 3600.0 * best.base().price_per_hour;
    probe.gain = 1.0 - policy_figure(best, plan.policy) / policy_figure(stay, plan.policy);
    const double cost = stay.outcome.cost.q50;
    const double budget = asked.profile_budget.value_or(kProbeShare * cost);
    const bool repays = probe.gain > kMargin && probe.gain * cost > probe.dollars;
    return repays && probe.dollars <= budget ? std::optional(probe) : plan.probe;
  }

  // After an audition its worker leaves first, so that two never run beside each other.
  std::vector<RunEvent> next_audition(const VmPlan& plan, const VmProbe& probe) const {
    const VmRow& row = plan.rows[probe.row];
    if (last_.phase == VmPhase::kProbing || last_.phase == VmPhase::kAudition)
      return dismiss(last_.worker, fmt::format("{} was measured; the next one is {}",
                                               last_.machine_type, row.base().type));
    // Who is missing will come back, or be given up, which ends the race. Until then nobody can
    // tell which worker the audition's machine would get.
    if (membership_.workers != incumbent_.workers) return {};
    return audition(row.base().type, probe.dollars, probe.gain);
  }

  // The best plan of a type that was tried, if moving there is worth it.
  std::vector<RunEvent> choose(const VmPlan& plan, const std::optional<VmRow>& stay,
                               const VmQuestion& asked) const {
    const auto is_tried = [&](const VmRow& row) { return row.evidence >= VmEvidence::kProfiled; };
    const auto best = std::ranges::find_if(plan.rows, is_tried);
    const std::string facts = plan_text(plan, asked);
    if (best == plan.rows.end() || !stay)
      return settle(incumbent_.machine_type, incumbent_.workers, "stays: " + facts);
    const VmGroup& group = best->base();
    const auto vms = static_cast<std::uint32_t>(group.vms);
    const bool breaks = stay->outcome.within_both < plan.confidence &&
                        best->outcome.within_both > stay->outcome.within_both;
    // While machines start, those of before are paid for, too.
    const double again = asked.start_seconds / std::max(1.0, stay->outcome.seconds.q50);
    const bool pays = policy_figure(*best, plan.policy) * (1.0 + again) <
                      (1.0 - kMargin) * policy_figure(*stay, plan.policy);
    const bool same = group.type == incumbent_.machine_type && vms == incumbent_.workers;
    if (same || !(breaks || pays))
      return settle(incumbent_.machine_type, incumbent_.workers,
                    same ? fmt::format("stays, as the best: {}", facts)
                         : fmt::format("stays: {} would save less than {:.0f} %; {}",
                                       name_text(*best), 100.0 * kMargin, facts));
    const std::string reason =
        fmt::format("{}: ${:.3g} and {:.0f} s are left, against ${:.3g} and {:.0f} s; {}",
                    name_text(*best), best->outcome.cost.q50, best->outcome.seconds.q50,
                    stay->outcome.cost.q50, stay->outcome.seconds.q50, facts);
    if (group.type == incumbent_.machine_type) return settle(group.type, vms, reason);
    const std::uint32_t others = membership_.workers - count_of(group.type);
    // Each of them needs a sample. What does not come is not waited for (await_machines).
    const std::uint32_t all =
        std::min(others + std::max(vms, count_of(group.type)), membership_.batch_size);
    VmStep move = step(VmPhase::kMoving, group.type, all, "moves to " + reason);
    move.worker = last_.worker;
    return {move};
  }

  std::string plan_text(const VmPlan& plan, const VmQuestion& asked) const {
    const auto auditions = tried().size() - 1;
    std::string text =
        auditions > 0
            ? fmt::format("{} {} auditioned", auditions, auditions == 1 ? "type was" : "types were")
            : fmt::format(
                  "no audition is expected to repay itself in the {:.0f} iterations that are "
                  "left at most: the catalogue's type is kept",
                  asked.running->iterations);
    if (!plan.choice)
      text += fmt::format("; no plan keeps the limits with {:.0f} %", 100.0 * plan.confidence);
    return text;
  }

  std::vector<RunEvent> settle(const std::string& type, std::uint32_t workers,
                               std::string reason) const {
    VmStep end = step(VmPhase::kSettled, type, workers, std::move(reason));
    for (const std::uint32_t worker : membership_.indices)
      if (types_.contains(worker) && !is_of(worker, type)) end.leaving.push_back(worker);
    if (last_.phase == VmPhase::kAudition || last_.phase == VmPhase::kProbing)
      end.worker = last_.worker;
    return {end};
  }

  std::vector<RunEvent> await_machines() const {
    const std::string& type = last_.machine_type;
    const std::uint32_t count = count_of(type);
    if (membership_.workers < last_.workers && !is_overdue()) return {};
    if (count == 0)
      return settle(incumbent_.machine_type, incumbent_.workers,
                    fmt::format("stays: no {} came", type));
    return settle(type, count,
                  membership_.workers < last_.workers
                      ? fmt::format("goes on with {} x {}: no more came", count, type)
                      : fmt::format("{} x {} have come, and the others leave", count, type));
  }

  const VmRaceSetting& setting_;
  const RunNumbers& numbers_;
  const VmStep& last_;
  const double last_time_;
  const VmStep& incumbent_;
  const fact::Membership& membership_;
  const std::map<std::uint32_t, std::string> types_;
};

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

std::vector<RunEvent> continue_race(const VmRaceSetting& setting, const RunNumbers& numbers) {
  if (last_of(numbers) == nullptr || numbers.phases.empty() || numbers.status) return {};
  return RaceLook(setting, numbers).next();
}

std::vector<RunEvent> end_race(const RunNumbers& numbers, std::uint32_t workers,
                               std::uint32_t batch_size, const std::string& reason) {
  const VmStep* const last = last_of(numbers);
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
  const VmStep* const last = last_of(numbers);
  if (last == nullptr) return {};
  if (last->phase != VmPhase::kAudition && last->phase != VmPhase::kProbing &&
      last->phase != VmPhase::kMoving)
    return {};
  VmStep step = incumbent_of(numbers);
  step.iteration = numbers.iterations;
  step.phase = VmPhase::kDismissed;
  step.worker = last->worker;
  step.share = 0;
  step.leaving.clear();
  step.reason = "resumed: goes on with what it had before";
  return {step};
}

}  // namespace scavenger::elastic
