// The part of the campaign that brings simulations and machines together, and ends it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "campaign/core/campaign.h"

namespace scavenger::campaign {
namespace {

constexpr std::size_t kMostRecentFailures = 4;  // of 20: more than a fifth
// From the last kept segment until machines are returned, beside the provider's own time.
constexpr double kReturnSeconds = 2.0;
constexpr double kCostSlackSeconds = 1e-3;  // the moment is computed, and rounded

}  // namespace

void Campaign::schedule() {
  if (end_ && end_->is_told) return;
  check_limits();
  check_ends();
  return_silent_machines();
  if (end_) return go_on_ending();
  assign();
  release_idle_machines();
  request_machines();
  // Releasing a machine that was never ready may have left nothing to wait for.
  check_ends();
  if (end_) go_on_ending();
}

std::uint32_t Campaign::slots_of(std::uint32_t cores) const {
  return std::max(1U, cores / plan_.config.simulation.cores);
}

double Campaign::grace_seconds() const {
  const SimulationStop& stop = plan_.config.simulation.stop;
  return stop.can_stop() ? stop.grace_seconds : 0.0;
}

// ---- Limits of tasks. ----

void Campaign::check_limits() {
  std::vector<TaskId> late;
  for (const auto& [id, task] : tasks_) {
    const auto limit = limit_seconds_of(task);
    if (limit && now_seconds_ >= *limit) late.push_back(id);
  }
  for (const TaskId id : late)
    on(event::TaskFailed{id,
                         "failed",
                         fmt::format("it has computed for {:g} hours (simulation.limit_hours)",
                                     plan_.config.simulation.limit_hours),
                         {}});
  std::vector<TaskId> stubborn;
  for (const auto& [id, task] : tasks_)
    if (task.was_stopped && task.phase == TaskPhase::kRunning && now_seconds_ >= task.kill_seconds)
      stubborn.push_back(id);
  for (const TaskId id : stubborn) {
    const PointIndex point = tasks_.at(id).point;
    end_task(id);
    put_back(point);
  }
}

std::optional<double> Campaign::wake_seconds() const {
  std::optional<double> wake;
  const auto consider = [&](std::optional<double> seconds) {
    if (seconds && (!wake || *seconds < *wake)) wake = std::max(*seconds, now_seconds_);
  };
  if (end_) {
    if (!end_->is_told && !tasks_.empty()) consider(end_->hard_seconds);
    return wake;
  }
  for (const auto& [id, task] : tasks_) {
    consider(limit_seconds_of(task));
    if (task.was_stopped && task.phase == TaskPhase::kRunning) consider(task.kill_seconds);
  }
  for (const auto& [id, machine] : machines_) consider(machine.verdict_seconds);
  if (request_again_seconds_ > now_seconds_) consider(request_again_seconds_);
  consider(cost_stop_seconds());
  return wake;
}

// ---- The end. ----

// When running segments must be asked to stop, so that max_cost is kept; nothing: never.
std::optional<double> Campaign::cost_stop_seconds() const {
  const double rate = ledger_.dollars_per_second();
  if (max_cost_ == 0.0 || rate == 0.0) return std::nullopt;
  double left =
      max_cost_ - ledger_.dollars(now_seconds_) - ledger_.dollars_to_minimum(now_seconds_);
  for (const auto& [id, machine] : machines_) {
    const MachinePrice asked = choice_.price(machine.asked_type);
    const double price = ledger_.is_open(id) ? machine.facts.price_per_hour : asked.per_hour;
    const double returning = ledger_.is_open(id) ? machine.facts.returning_seconds
                                                 : asked.minimum_seconds + asked.returning_seconds;
    left -= price / 3600.0 * (returning + grace_seconds() + kReturnSeconds);
  }
  return now_seconds_ + std::max(0.0, left / rate);
}

void Campaign::check_ends() {
  if (end_) return;
  const auto failures = std::ranges::count(recent_failures_, true);
  if (std::cmp_greater(failures, kMostRecentFailures))
    return begin_end(
        "failed",
        fmt::format("{} of the last {} simulations failed", failures, recent_failures_.size()),
        grace_seconds());
  const auto stop = cost_stop_seconds();
  if (stop && now_seconds_ + kCostSlackSeconds >= *stop)
    return begin_end("max_cost", fmt::format("more would cost more than ${:g}", max_cost_),
                     grace_seconds());
  if (is_surrogate_good_enough())
    return begin_end("finished",
                     fmt::format("the surrogate's error on the holdout is {:g}, which is enough",
                                 trainings_.back().rmse),
                     grace_seconds());
  if (open_simulations() == 0 && !may_choose_more() && !is_training_due()) {
    const bool is_all = order_.left() == 0;
    begin_end("finished",
              is_all ? "all points of the space were simulated" : "max_simulations were simulated",
              0.0);
  }
}

// The first reason counts; a later one may leave less time.
void Campaign::begin_end(const std::string& status, const std::string& reason,
                         double grace_seconds) {
  const double hard = now_seconds_ + grace_seconds;
  if (!end_) end_ = End{status, reason, hard, false};
  end_->hard_seconds = std::min(end_->hard_seconds, hard);
  for (auto& [id, task] : tasks_) request_stop(id, task);
}

void Campaign::go_on_ending() {
  const bool can_stop = plan_.config.simulation.stop.can_stop();
  std::vector<TaskId> over;
  for (const auto& [id, task] : tasks_)
    if (now_seconds_ >= end_->hard_seconds || (!can_stop && task.phase != TaskPhase::kKeeping))
      over.push_back(id);
  for (const TaskId id : over) {
    const PointIndex point = tasks_.at(id).point;
    end_task(id);
    put_back(point);
  }
  std::vector<MachineId> free;
  for (const auto& [id, machine] : machines_) {
    const bool is_busy = machine.is_busy();
    if (!is_busy && machine.state != MachineState::kLeaving) free.push_back(id);
  }
  for (const MachineId id : free) release(id);
  const bool is_judging = std::ranges::any_of(simulations_, [](const auto& entry) {
    return entry.second.state == SimulationState::kJudging;
  });
  if (!machines_.empty() || is_judging) return;
  end_->is_told = true;
  actions_.push_back(action::Finish{end_->status, end_->reason});
}

// ---- Simulations and slots. ----

std::size_t Campaign::open_simulations() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      simulations_, [](const auto& entry) { return !entry.second.is_over(); }));
}

// A lengthened one counts as the simulations that it is as long as.
std::uint64_t Campaign::begun_simulations() const {
  std::uint64_t begun = 0;
  for (const auto& [point, simulation] : simulations_) begun += simulation.multiple;
  return begun;
}

bool Campaign::may_choose_more() const {
  return order_.left() > 0 && (max_simulations_ == 0 || begun_simulations() < max_simulations_);
}

// Of those that wait: the first that did not fail on this machine last, or, if there is no other
// machine, the first.
std::optional<std::size_t> Campaign::waiting_for(MachineId machine) const {
  const auto fits = [&](PointIndex point) { return simulations_.at(point).failed_on != machine; };
  const auto found = std::ranges::find_if(waiting_, fits);
  if (found != waiting_.end()) return static_cast<std::size_t>(found - waiting_.begin());
  const bool is_only_one = std::ranges::count_if(machines_, [](const auto& entry) {
                             return entry.second.state != MachineState::kLeaving;
                           }) <= 1;
  return is_only_one && !waiting_.empty() && !may_choose_more() ? std::optional<std::size_t>(0)
                                                                : std::nullopt;
}

std::optional<PointIndex> Campaign::take_point(MachineId machine) {
  if (const auto place = waiting_for(machine)) {
    const PointIndex point = waiting_.at(*place);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(*place));
    return point;
  }
  if (!may_choose_more()) return std::nullopt;
  auto point = order_.next();
  if (!point) return std::nullopt;
  if (!order_.is_holdout(*point)) {
    if (const auto longer = point_to_lengthen()) return longer;
    if (const auto advised = advised_point()) point = advised;
  }
  order_.take(*point);
  simulations_[*point].is_holdout = order_.is_holdout(*point);
  return point;
}

void Campaign::assign() {
  for (auto& [id, machine] : machines_) {
    if (machine.state != MachineState::kReady || machine.has_notice) continue;
    for (std::uint32_t slot = 0; slot < machine.slots.size(); ++slot) {
      if (machine.slots[slot]) continue;
      if (!is_worth_keeping(machine)) break;
      const auto point = take_point(id);
      if (!point) break;
      start_task(id, slot, *point);
    }
  }
}

// ---- Machines. ----

MachineChoice::Now Campaign::choice_now() const {
  const double slots =
      static_cast<double>(std::max<std::size_t>(busy_or_coming_slots(), most_machines_));
  const double tasks = static_cast<double>(wanted_slots());
  return {lives_, now_seconds_, checkpoint_cost_.seconds(), std::max(1.0, tasks / slots)};
}

// Once it is not, it takes nothing more, and is released when what runs there is done.
bool Campaign::is_worth_keeping(MachineRecord& machine) {
  const bool has_work = !waiting_.empty() || may_choose_more();
  if (!machine.is_retiring && has_work)
    machine.is_retiring =
        !choice_.is_worth_keeping(choice_now(), {machine.facts.type, machine.facts.zone},
                                  now_seconds_ - machine.ready_seconds);
  return !machine.is_retiring;
}

void Campaign::release(MachineId id) {
  MachineRecord& machine = machines_.at(id);
  machine.verdict_seconds.reset();
  machine.state = MachineState::kLeaving;
  machine.state_seconds = now_seconds_;
  actions_.push_back(action::ReleaseMachine{id});
}

// The provider has not said that it took them.
void Campaign::return_silent_machines() {
  std::vector<MachineId> silent;
  for (const auto& [id, machine] : machines_)
    if (machine.verdict_seconds && (end_ || now_seconds_ >= *machine.verdict_seconds))
      silent.push_back(id);
  for (const MachineId id : silent) release(id);
}

// One that has notice is returned as soon as nothing runs there; what runs there needs another.
void Campaign::release_idle_machines() {
  std::vector<MachineId> idle;
  const bool moves_soon = std::ranges::any_of(machines_, [](const auto& entry) {
    return entry.second.has_notice && entry.second.is_busy();
  });
  const bool is_needed = !waiting_.empty() || may_choose_more() || moves_soon;
  for (const auto& [id, machine] : machines_) {
    const bool is_busy = machine.is_busy();
    if (machine.state != MachineState::kLeaving && !is_busy &&
        (machine.has_notice || machine.is_retiring || !is_needed))
      idle.push_back(id);
  }
  for (const MachineId id : idle) release(id);
}

// Slots of machines that take simulations, or will.
std::size_t Campaign::busy_or_coming_slots() const {
  std::size_t slots = 0;
  for (const auto& [id, machine] : machines_)
    if (machine.state != MachineState::kLeaving && !machine.has_notice && !machine.is_retiring)
      slots += machine.slots.empty() ? std::max(1U, last_slots_) : machine.slots.size();
  return slots;
}

// As many simulations as wait or run, or may still be chosen.
std::size_t Campaign::wanted_slots() const {
  const std::size_t begun = waiting_.size() + tasks_.size();
  if (!may_choose_more()) return begun;
  if (max_simulations_ == 0) return begun + order_.left();
  return begun + std::min<std::size_t>(order_.left(), max_simulations_ - begun_simulations());
}

// Whether the least that another machine costs is within the limit, with all that have been asked
// for and may come.
bool Campaign::can_afford_another(const std::string& type) const {
  if (max_cost_ == 0.0) return true;
  const auto least = [&](const MachinePrice& price) {
    return price.per_hour / 3600.0 *
           (price.minimum_seconds + price.returning_seconds + grace_seconds() +
            2.0 * kReturnSeconds);
  };
  double sum = ledger_.dollars(now_seconds_) + ledger_.dollars_to_minimum(now_seconds_) +
               least(choice_.price(type));
  for (const auto& [id, machine] : machines_) {
    MachinePrice price = choice_.price(machine.asked_type);
    if (ledger_.is_open(id)) {  // the least time is in the sum
      price.per_hour = machine.facts.price_per_hour;
      price.minimum_seconds = 0.0;
      price.returning_seconds = machine.facts.returning_seconds;
    }
    sum += least(price);
  }
  return sum <= max_cost_;
}

std::vector<std::string> Campaign::types_of_machines() const {
  std::vector<std::string> types;
  for (const auto& [id, machine] : machines_)
    if (machine.state != MachineState::kLeaving)
      types.push_back(machine.facts.type.empty() ? machine.asked_type : machine.facts.type);
  return types;
}

void Campaign::request_machines() {
  if (now_seconds_ < request_again_seconds_) return;
  const std::size_t wanted = wanted_slots();
  const auto living = [&] {
    return std::ranges::count_if(machines_, [](const auto& entry) {
      return entry.second.state != MachineState::kLeaving && !entry.second.has_notice;
    });
  };
  while (std::cmp_less(living(), most_machines_) && busy_or_coming_slots() < wanted) {
    const std::string type = choice_.next_type(choice_now(), types_of_machines());
    if (!can_afford_another(type)) {
      if (machines_.empty())
        begin_end("max_cost", fmt::format("a machine would cost more than ${:g}", max_cost_), 0.0);
      return;
    }
    const MachineId id = next_machine_++;
    machines_[id].asked_type = type;
    machines_[id].state_seconds = now_seconds_;
    actions_.push_back(action::RequestMachine{id, type});
  }
}

}  // namespace scavenger::campaign
