// The part of the campaign that follows each simulation on its machine.
#include <fmt/format.h>

#include <algorithm>

#include "campaign/core/campaign.h"
#include "perfmodel/survival/checkpoint_rule.h"
#include "runtime/base/check.h"

namespace scavenger::campaign {
namespace {

constexpr std::size_t kRecentSimulations = 20;
// Of the age at which the provider ends machines.
constexpr double kAtWall = 0.9;
constexpr double kMostOfLife = 0.5;

Ledger::Phase ledger_phase(TaskPhase phase) {
  switch (phase) {
    case TaskPhase::kSending:
      return Ledger::Phase::kStart;
    case TaskPhase::kRunning:
      return Ledger::Phase::kRun;
    case TaskPhase::kKeeping:
      return Ledger::Phase::kCheckpoint;
  }
  check_failed("a phase of the enumeration", __FILE__, __LINE__);
}

}  // namespace

// ---- Steps of a task. ----

void Campaign::enter(TaskRecord& task, TaskPhase phase) {
  if (task.phase == TaskPhase::kKeeping && phase == TaskPhase::kRunning)
    checkpoint_cost_.add(now_seconds_ - task.phase_seconds);
  ledger_.enter(task.machine, task.slot, ledger_phase(phase), now_seconds_);
  task.phase = phase;
  task.phase_seconds = now_seconds_;
}

std::uint64_t Campaign::steps_of(const SimulationRecord& simulation) const {
  return plan_.config.simulation.steps * simulation.multiple;
}

// Of the next segment; 0: nothing that is worth its checkpoint can be computed before the machine
// ends.
double Campaign::interval_seconds(const TaskRecord& task) const {
  const SimulationConfig& simulation = plan_.config.simulation;
  const SimulationRecord& record = simulations_.at(task.point);
  const double fixed = simulation.checkpoint.interval_seconds;
  if (record.steps_per_second == 0.0) return fixed;
  const double work =
      static_cast<double>(steps_of(record) - record.steps()) / record.steps_per_second;
  const MachineRecord& machine = machines_.at(task.machine);
  const perfmodel::Survival& lives = lives_.survival({machine.facts.type, machine.facts.zone});
  const double age = now_seconds_ - machine.ready_seconds;
  const perfmodel::CheckpointCost cost{checkpoint_cost_.seconds(), 1.0};
  if (fixed == 0.0) return perfmodel::next_segment_seconds(lives, age, work, cost);
  return perfmodel::before_wall_seconds(lives, age, fixed, cost);
}

void Campaign::plan_segment(TaskRecord& task) const {
  const SimulationConfig& simulation = plan_.config.simulation;
  const SimulationRecord& record = simulations_.at(task.point);
  task.from = record.steps();
  task.until = steps_of(record);
  if (simulation.checkpoint.mode == CheckpointMode::kSelf) return;
  const MachineRecord& machine = machines_.at(task.machine);
  const double age = now_seconds_ - machine.ready_seconds;
  task.until = segment_end({.from = task.from,
                            .steps = steps_of(record),
                            .multiple = simulation.step_multiple,
                            .interval_seconds = interval_seconds(task),
                            .steps_per_second = record.steps_per_second,
                            .most_seconds = plan_.wall_seconds - age - checkpoint_cost_.seconds(),
                            .lost_trials = record.lost_trials});
}

// Whether the simulation should go on elsewhere after the segment that was kept just now.
bool Campaign::must_move(const TaskRecord& task) const {
  return plan_.config.simulation.checkpoint.mode == CheckpointMode::kSegments &&
         simulations_.at(task.point).steps_per_second > 0.0 && interval_seconds(task) == 0.0;
}

void Campaign::start_task(MachineId machine, std::uint32_t slot, PointIndex point) {
  const TaskId id = next_task_++;
  TaskRecord& task = tasks_[id];
  task.point = point;
  task.machine = machine;
  task.slot = slot;
  SimulationRecord& record = simulations_.at(point);
  record.state = SimulationState::kRunning;
  machines_.at(machine).slots.at(slot) = id;
  plan_segment(task);
  enter(task, TaskPhase::kSending);
  actions_.push_back(
      action::StartTask{id, machine, point, record.segments.size(), task.from, task.until});
}

void Campaign::request_stop(TaskId id, TaskRecord& task) {
  if (task.was_stopped || !plan_.config.simulation.stop.can_stop()) return;
  task.was_stopped = true;
  task.kill_seconds = now_seconds_ + grace_seconds();
  actions_.push_back(action::StopTask{id});
}

// The machine's slot is free again. The simulation's state is the caller's.
void Campaign::drop_task(TaskId id, Spent spent) {
  const TaskRecord task = tasks_.at(id);
  tasks_.erase(id);
  ledger_.enter(task.machine, task.slot, Ledger::Phase::kIdle, now_seconds_);
  ledger_.settle(task.machine, task.slot, spent);
  machines_.at(task.machine).slots.at(task.slot).reset();
}

void Campaign::end_task(TaskId id) {
  actions_.push_back(action::EndTask{id});
  drop_task(id, Spent::kRedone);
}

// Nobody took the machine, so what ran there may have broken it, for instance by taking all of its
// memory. A simulation that breaks one after the other must not go on for ever.
void Campaign::blame_tasks_of(MachineId machine, const std::string& how) {
  std::vector<TaskId> blamed;
  for (const auto& slot : machines_.at(machine).slots)
    if (slot && tasks_.at(*slot).phase == TaskPhase::kRunning) blamed.push_back(*slot);
  for (const TaskId id : blamed) {
    const PointIndex point = tasks_.at(id).point;
    SimulationRecord& record = simulations_.at(point);
    record.failed_on = machine;
    record.reason = how;
    if (++record.broken_hosts < plan_.config.simulation.tries) continue;
    drop_task(id, Spent::kRedone);
    give_up(record, SimulationState::kFailed,
            fmt::format("{} machines broke in a row while it ran: {}", record.broken_hosts, how),
            {});
  }
}

// The provider took it. What it was to measure is made shorter. A segment that cannot be made
// shorter, and does not end within a whole life of machines, would be begun for ever.
void Campaign::learn_from_loss(MachineId id) {
  const MachineRecord& machine = machines_.at(id);
  const bool is_at_wall = now_seconds_ - machine.ready_seconds >= kAtWall * plan_.wall_seconds;
  std::vector<TaskId> hopeless;
  for (const auto& slot : machine.slots) {
    if (!slot || tasks_.at(*slot).phase != TaskPhase::kRunning) continue;
    const TaskRecord& task = tasks_.at(*slot);
    SimulationRecord& record = simulations_.at(task.point);
    if (record.steps_per_second == 0.0) ++record.lost_trials;
    const bool had_a_life = now_seconds_ - task.phase_seconds >= kMostOfLife * plan_.wall_seconds;
    const bool is_shortest = plan_.config.simulation.checkpoint.mode == CheckpointMode::kSelf ||
                             task.until - task.from <= plan_.config.simulation.step_multiple;
    if (!is_at_wall || !had_a_life || !is_shortest) continue;
    if (++record.wall_losses >= plan_.config.simulation.tries) hopeless.push_back(*slot);
  }
  for (const TaskId id_of_task : hopeless) {
    SimulationRecord& record = simulations_.at(tasks_.at(id_of_task).point);
    drop_task(id_of_task, Spent::kRedone);
    give_up(
        record, SimulationState::kFailed,
        fmt::format("it wrote no checkpoint on {} machines that the provider ended after {:g} s "
                    "(max_run_seconds); use a smaller simulation.step_multiple, or let machines "
                    "live longer",
                    record.wall_losses, plan_.wall_seconds),
        {});
  }
}

void Campaign::drop_tasks_of(MachineId machine) {
  const auto slots = machines_.at(machine).slots;
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) {
    if (!*slot) continue;
    const PointIndex point = tasks_.at(**slot).point;
    drop_task(**slot, Spent::kRedone);
    put_back(point);
  }
}

// At the head of the queue: it was chosen before all that wait.
void Campaign::put_back(PointIndex point) {
  simulations_.at(point).state = SimulationState::kWaiting;
  waiting_.push_front(point);
}

// The machine's seconds that the simulation has computed, kept or not.
double Campaign::computed_seconds(const TaskRecord& task) const {
  return simulations_.at(task.point).cost().seconds +
         ledger_.unsettled_seconds(task.machine, task.slot, now_seconds_);
}

// When it has computed for too long; nothing while it does not compute.
std::optional<double> Campaign::limit_seconds_of(const TaskRecord& task) const {
  if (task.phase != TaskPhase::kRunning) return std::nullopt;
  const double limit =
      plan_.config.simulation.limit_hours * 3600.0 * simulations_.at(task.point).multiple;
  return now_seconds_ + limit - computed_seconds(task);
}

// ---- News of tasks. ----

void Campaign::on(const event::SegmentBegan& began) {
  const auto found = tasks_.find(began.task);
  if (found == tasks_.end() || found->second.phase == TaskPhase::kRunning) return;
  enter(found->second, TaskPhase::kRunning);
  broken_hosts_ = 0;
}

void Campaign::on(const event::SegmentEnded& ended) {
  const auto found = tasks_.find(ended.task);
  if (found == tasks_.end() || found->second.phase != TaskPhase::kRunning) return;
  found->second.run_seconds = now_seconds_ - found->second.phase_seconds;
  enter(found->second, TaskPhase::kKeeping);
}

void Campaign::on(const event::SegmentKept& kept) {
  const auto found = tasks_.find(kept.task);
  if (found == tasks_.end() || found->second.phase != TaskPhase::kKeeping) return;
  TaskRecord& task = found->second;
  SimulationRecord& record = simulations_.at(task.point);
  const std::uint64_t until = std::clamp(kept.until, task.from, task.until);
  record.segments.push_back(
      {task.from, until, ledger_.settle(task.machine, task.slot, Spent::kUseful)});
  if (until > task.from && task.run_seconds > 0.0) {
    record.steps_per_second = static_cast<double>(until - task.from) / task.run_seconds;
    choice_.add_rate(machines_.at(task.machine).facts.type, task.point,
                     static_cast<double>(plan_.config.simulation.steps) / record.steps_per_second);
  }
  if (until > task.from) record.broken_hosts = record.wall_losses = 0;
  const PointIndex point = task.point;
  if (until >= steps_of(record)) {
    end_task(kept.task);
    record.state = SimulationState::kJudging;
    actions_.push_back(action::Judge{point});
  } else if (end_ || task.was_stopped || machines_.at(task.machine).has_notice) {
    end_task(kept.task);
    put_back(point);
  } else if (must_move(task)) {
    machines_.at(task.machine).is_retiring = true;
    end_task(kept.task);
    put_back(point);
  } else {
    plan_segment(task);
    actions_.push_back(action::RunSegment{kept.task, task.from, task.until});
  }
}

void Campaign::on(const event::CheckpointKept& kept) {
  const auto found = tasks_.find(kept.task);
  if (found == tasks_.end()) return;
  TaskRecord& task = found->second;
  simulations_.at(task.point).broken_hosts = simulations_.at(task.point).wall_losses = 0;
  enter(task, task.phase);  // what it has computed so far is counted
  simulations_.at(task.point)
      .segments.push_back(
          {task.from, task.from, ledger_.settle(task.machine, task.slot, Spent::kUseful)});
}

void Campaign::on(const event::CheckpointDamaged& damaged) {
  const auto found = tasks_.find(damaged.task);
  if (found == tasks_.end()) return;
  TaskRecord& task = found->second;
  SimulationRecord& record = simulations_.at(task.point);
  while (record.segments.size() > damaged.kept) {
    ledger_.move(Spent::kUseful, Spent::kRedone, record.segments.back().cost);
    record.segments.pop_back();
  }
  plan_segment(task);
  actions_.push_back(action::StartTask{damaged.task, task.machine, task.point,
                                       record.segments.size(), task.from, task.until});
}

void Campaign::on(const event::TaskFailed& failed) {
  const auto found = tasks_.find(failed.task);
  if (found == tasks_.end()) return;
  const TaskRecord task = found->second;
  SimulationRecord& record = simulations_.at(task.point);
  const bool has_diverged = failed.how == "diverged";
  actions_.push_back(action::EndTask{failed.task});
  drop_task(failed.task, has_diverged ? Spent::kDiscarded : Spent::kRedone);
  if (has_diverged)
    return give_up(record, SimulationState::kDiverged, failed.reason, failed.log_tail);
  // Only one that was asked to stop may end without a checkpoint, and is not to blame.
  if (task.was_stopped && failed.how == "stopped") return put_back(task.point);
  ++record.failures;
  record.failed_on = task.machine;
  record.reason = failed.reason;
  record.log_tail = failed.log_tail;
  if (record.failures >= plan_.config.simulation.tries)
    return give_up(record, SimulationState::kFailed, failed.reason, failed.log_tail);
  put_back(task.point);
}

void Campaign::on(const event::Judged& judged) {
  const auto found = simulations_.find(judged.point);
  if (found == simulations_.end() || found->second.state != SimulationState::kJudging) return;
  SimulationRecord& record = found->second;
  if (!judged.fault.empty())
    return give_up(record, SimulationState::kDiverged, judged.fault, judged.log_tail);
  record.state = SimulationState::kDone;
  record.kept_multiple = record.multiple;
  ++record.results;
  record.reason.clear();
  record.log_tail.clear();
  recent_failures_.push_back(false);
  if (recent_failures_.size() > kRecentSimulations) recent_failures_.pop_front();
}

// It could not be lengthened. The result that it had still counts.
void Campaign::keep_shorter(SimulationRecord& simulation, const std::string& reason,
                            const std::string& log_tail) {
  simulation.multiple = simulation.kept_multiple;
  simulation.may_be_lengthened = false;
  simulation.state = SimulationState::kDone;
  simulation.reason = "it could not be lengthened: " + reason;
  simulation.log_tail = log_tail;
  while (simulation.steps() > steps_of(simulation)) {
    ledger_.move(Spent::kUseful, Spent::kDiscarded, simulation.segments.back().cost);
    simulation.segments.pop_back();
  }
}

void Campaign::give_up(SimulationRecord& simulation, SimulationState state,
                       const std::string& reason, const std::string& log_tail) {
  if (simulation.has_result()) return keep_shorter(simulation, reason, log_tail);
  simulation.state = state;
  simulation.reason = reason;
  simulation.log_tail = log_tail;
  ledger_.move(Spent::kUseful, Spent::kDiscarded, simulation.cost());
  recent_failures_.push_back(state == SimulationState::kFailed);
  if (recent_failures_.size() > kRecentSimulations) recent_failures_.pop_front();
}

}  // namespace scavenger::campaign
