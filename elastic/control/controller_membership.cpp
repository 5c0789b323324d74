// The controller's part that brings processes together: at the start, after a loss, for a newcomer.
// docs/design/synchronisation.md, "Losing a process, and reshaping", tells the steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "elastic/control/controller.h"
#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

// So often in a row something may take too long, without anybody being lost, before the job ends.
constexpr std::uint32_t kDelayLimit = 3;
constexpr double kLongestBackoffSeconds = 60.0;
// So many memberships in a row may lose a process before their first iteration is done.
constexpr std::uint32_t kFruitlessLimit = 10;

// Before the next try, after so many that failed in a row.
double backoff_seconds(std::uint32_t failures) {
  if (failures <= 1) return 0.0;
  return std::min(kLongestBackoffSeconds, std::ldexp(1.0, static_cast<int>(failures) - 2));
}

std::string too_many_losses(const std::string& loss) {
  return loss + ": one loss more than faults.max_losses";
}

}  // namespace

// ---- Who is there. ----

void Controller::on_process_started(const ProcessStarted& event) {
  roster_.run(event.process, now_seconds_);
}

// It is asked for again, later, while the others train; where it cannot be had at all, they go on
// without it.
void Controller::on_machine_refused(const MachineRefused& event) {
  const ProcessName& process = event.process;
  if (state() == JobState::kEnding || !roster_.is_starting(process)) return;
  const std::string refusal = fmt::format("no machine for {}: {}", process.text(), event.why);
  roster_.refuse(process);
  if (event.retry_after_seconds) {
    const double delay_seconds =
        std::max(*event.retry_after_seconds, backoff_seconds(roster_.failures(process)));
    actions_.push_back(
        Announce{fmt::format("{}; asking again in {}", refusal, format_duration(delay_seconds))});
    roster_.defer(process, now_seconds_, delay_seconds);
  } else {
    if (roster_.active_workers().size() == 1) return fail(refusal);
    actions_.push_back(Announce{refusal + "; going on without it"});
    roster_.give_up(process);
    if (wanted_workers_ > 1) --wanted_workers_;
  }
  if (state() == JobState::kGathering || state() == JobState::kHalting) gather();
}

void Controller::replace_deferred() {
  if (state() == JobState::kEnding) return;
  for (const ProcessName& process : roster_.deferred_until(now_seconds_)) replace(process);
}

// One that was let go while it started may still say that it is there.
void Controller::on_process_joined(const ProcessJoined& event) {
  if (state() == JobState::kEnding || !roster_.expects(event.process)) return;
  roster_.join(event.process);
  if (event.process.role == Role::kWorker) {
    never_joined_ = 0;
    if (!first_joined_seconds_) first_joined_seconds_ = now_seconds_;
  }
  if (next_worker_count() == ranks_.size() + 1) newcomer_seconds_ = now_seconds_;
  if (state() == JobState::kGathering) return gather();
  if (state() == JobState::kTraining && reshape_is_due()) go_to_boundary();
}

bool Controller::breaks_the_membership(const ProcessName& process) const {
  switch (state()) {
    case JobState::kGathering:
    case JobState::kHalting:
    case JobState::kRestoring:
      return false;  // it is being made
    case JobState::kDraining:
      if (checkpointed_at_ == work_.done()) return false;  // nobody is needed any more
      [[fallthrough]];
    default:
      return process.role == Role::kShard ||
             std::ranges::find(ranks_, process.index) != ranks_.end();
  }
}

// Whether the present membership has trained for nothing yet: each that follows may end as it does.
bool Controller::is_fruitless() const {
  return state() == JobState::kTraining && !paused_ && work_.done() == membership_.first_iteration;
}

void Controller::on_process_lost(const ProcessLost& event) {
  if (state() == JobState::kEnding || !roster_.knows(event.process)) return;
  const ProcessName& process = event.process;
  const std::string loss = fmt::format("{} {}", process.text(), event.how);
  killed_.erase(process);
  if (!event.with_machine && !event.is_in_doubt.value_or(false)) ++losses_;
  const bool has_joined = roster_.has_joined(process);
  if (process.role == Role::kWorker && !has_joined && !event.with_machine) ++never_joined_;
  const bool given_up = roster_.lose(process, event.with_machine);
  const FaultsConfig& faults = plan_.faults;
  if (event.by_itself) return fail(loss, event.bad_input);
  if (faults.on_worker_loss == OnWorkerLoss::kStop)
    return fail(loss + " (faults.on_worker_loss is stop)");
  if (losses_ > faults.max_losses) return fail(too_many_losses(loss));
  if (never_joined_ >= Roster::kEarlyLossLimit && roster_.joined_worker_count() == 0)
    return fail(
        fmt::format("{}: {} workers in a row never joined the job, and nobody else is there", loss,
                    never_joined_));
  // Who was leaving is replaced already.
  const bool shrinks =
      !roster_.is_leaving(process) && (given_up || faults.on_worker_loss == OnWorkerLoss::kShrink);
  if (process.role == Role::kWorker && shrinks && wanted_workers_ > 1 &&
      roster_.active_workers().size() < wanted_workers_ + (given_up ? 0 : 1))
    --wanted_workers_;
  if (given_up && process.role == Role::kShard)
    return fail(fmt::format("{}, {} times in a row at its start", loss, Roster::kEarlyLossLimit));
  if (given_up)
    actions_.push_back(
        Announce{fmt::format("{} is not started again: it was lost {} times in a row at its start",
                             process.text(), Roster::kEarlyLossLimit)});
  if (process.role == Role::kShard) shards_asked_ = false;
  const bool breaks = breaks_the_membership(process);
  if (state() == JobState::kDraining && !breaks) return;
  if (breaks && !event.with_machine && is_fruitless() && ++fruitless_ >= kFruitlessLimit)
    return fail(
        fmt::format("{}: {} memberships in a row lost a process before an iteration was done", loss,
                    fruitless_));
  if (!given_up) replace_soon(process);
  if (break_) break_->lost.push_back(process);
  if (breaks) {
    if (!break_) break_ = Break{now_seconds_, {process}, loss, 0};
    halt_all(Cause::kProcessLost, plan_.limits.iteration_seconds);
  } else if (state() == JobState::kGathering || state() == JobState::kHalting) {
    gather();
  }
}

// The worker was replaced when it was lost, whatever it was lost by.
void Controller::on_loss_judged(const LossJudged& event) {
  if (state() == JobState::kEnding || event.with_machine) return;
  ++losses_;
  if (losses_ > plan_.faults.max_losses)
    fail(too_many_losses(fmt::format("{} {}", event.process.text(), event.how)));
}

// At once, unless its predecessors did not live to take part.
void Controller::replace_soon(const ProcessName& process) {
  const double delay_seconds = backoff_seconds(roster_.failures(process));
  if (process.role == Role::kShard || delay_seconds == 0.0) return replace(process);
  roster_.defer(process, now_seconds_, delay_seconds);
}

void Controller::replace(const ProcessName& process) {
  // One for which there was no machine has not been lost.
  const bool shrinks =
      plan_.faults.on_worker_loss == OnWorkerLoss::kShrink && !roster_.is_refused(process);
  if (process.role == Role::kWorker &&
      (shrinks || roster_.is_leaving(process) || roster_.active_workers().size() > wanted_workers_))
    return roster_.forget(process);
  roster_.start(process, now_seconds_);
  actions_.push_back(StartProcess{process});
}

void Controller::replace_gone() {
  for (const ProcessName& process : roster_.gone()) replace(process);
}

// ---- Halting. ----

void Controller::take_break(Cause cause, const std::string& reason) {
  if (!break_) break_ = Break{now_seconds_, {}, reason, 0};
  halt_all(cause, plan_.limits.iteration_seconds);
}

void Controller::halt_all(Cause cause, double limit_seconds) {
  machine_.follow(cause);
  stuck_seconds_.reset();
  retry_seconds_.reset();
  awaits_disk_ = false;
  halt_seconds_ = now_seconds_;
  halt_limit_seconds_ = limit_seconds;
  shards_asked_ = false;
  std::vector<ProcessName> processes;
  for (const ProcessName& process : roster_.joined())
    if (process.role == Role::kWorker || plan_.state_home != StateHome::kMemory)
      processes.push_back(process);
  ask_to_halt(processes);
  gather();
}

void Controller::ask_to_halt(const std::vector<ProcessName>& processes) {
  if (processes.empty()) return;
  for (const ProcessName& process : processes) roster_.ask_to_halt(process);
  actions_.push_back(HaltProcesses{processes});
}

void Controller::on_process_halted(const ProcessHalted& event) {
  if (!roster_.knows(event.process) || !roster_.halted(event)) return;
  if (state() == JobState::kHalting) gather();
}

void Controller::on_process_stuck(const ProcessStuck& event) {
  if (state() != JobState::kConnecting && state() != JobState::kTraining) return;
  if (stuck_seconds_) return;
  stuck_seconds_ = now_seconds_;
  stuck_reason_ = fmt::format("{}: {}", event.process.text(), event.reason);
}

// ---- A new membership. ----

// A job starts with all that can be had. Whoever is there is paid for, while machines of others may
// take many minutes: these come in later.
bool Controller::is_wait_over() const {
  constexpr double kWaitSeconds = 10.0;
  return first_joined_seconds_ && now_seconds_ > *first_joined_seconds_ + kWaitSeconds &&
         !roster_.is_any_coming(kWaitSeconds, now_seconds_);
}

void Controller::start_without_the_rest() {
  if (state() != JobState::kGathering || has_trained_ || roster_.starting_count() == 0) return;
  if (is_wait_over()) gather();
}

// Goes on as soon as all that it needs is there.
void Controller::gather() {
  if (roster_.is_any_halting()) return;
  if (state() == JobState::kHalting) machine_.follow(Cause::kAllHalted);
  // Workers write to shared memory until they have halted, so only then can its keeper say where
  // it stands; one that was started in place of another finds what that has left.
  if (has_begun_ && plan_.state_home == StateHome::kMemory && roster_.all_shards_joined() &&
      !std::exchange(shards_asked_, true)) {
    machine_.follow(Cause::kKeeperAsked);
    halt_seconds_ = now_seconds_;
    return ask_to_halt({{Role::kShard, 0}});
  }
  const bool someone_starts = roster_.starting_count() > 0;
  const bool someone_comes = someone_starts || roster_.deferred_count() > 0;
  const bool all_wait = !has_trained_ && someone_starts && !is_wait_over();
  if (all_wait || !roster_.all_shards_joined()) return;
  if (roster_.joined_worker_count() == 0) {
    if (!someone_comes) fail("no workers are left");
    return;
  }
  if (!has_begun_) {
    if (someone_starts)
      actions_.push_back(Announce{
          fmt::format("starts with {} of {} workers: there is no machine for the others yet",
                      roster_.joined_worker_count(), wanted_workers_)});
    return go_on_from(plan_.resumes_checkpoint ? StateSource::kCheckpoint : StateSource::kInitial,
                      plan_.membership.first_iteration, plan_.membership.first_position);
  }
  if (const auto iteration = roster_.kept_iteration(plan_.state_home))
    return go_on_from(StateSource::kPresent, *iteration, membership_.position_at(*iteration));
  if (writing_) return;  // it may be the checkpoint to go back to
  machine_.follow(Cause::kCheckpointNeeded);
  actions_.push_back(FindCheckpoint{});
}

void Controller::on_checkpoint_found(const CheckpointFound& event) {
  if (state() != JobState::kRestoring) return;
  machine_.follow(Cause::kCheckpointFound);
  if (!roster_.all_shards_joined() || roster_.joined_worker_count() == 0) return gather();
  if (event.iteration)
    go_on_from(StateSource::kCheckpoint, *event.iteration, event.position);
  else
    go_on_from(StateSource::kInitial, 0, 0);
}

void Controller::go_on_from(StateSource source, std::uint64_t iteration, std::uint64_t position) {
  source_ = source;
  if (source != StateSource::kPresent) {
    const std::uint64_t reached = work_.furthest();
    if (break_ && reached > iteration) break_->iterations_lost = reached - iteration;
    checkpointed_at_.reset();
    if (source == StateSource::kCheckpoint) checkpointed_at_ = iteration;
    if (has_begun_) forget_what_was_lost();
  }
  if (has_begun_) ++membership_.epoch;
  has_begun_ = true;
  work_.go_on_from(iteration);
  membership_.first_iteration = iteration;
  membership_.first_position = position;
  configure();
}

void Controller::forget_what_was_lost() {
  replans_ = true;
  checkpoint_wanted_ = false;
  const bool holds =
      ending_ && (ending_->status == Status::kInterrupted || ending_->status == Status::kMaxTime ||
                  ending_->status == Status::kMaxCost);
  if (holds) return;
  ending_.reset();  // what was reached has to be reached again
  staff();
}

void Controller::configure() {
  ConfigureWorkers workers;
  workers.source = source_;
  workers.reason = break_ ? break_->reason : plan_.resumes_checkpoint ? "resumed" : "start";
  take_ranks();
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const ProcessName worker{Role::kWorker, ranks_[rank]};
    if (!roster_.has_weights(worker)) workers.newcomers.push_back(worker.index);
    const ProcessName source{Role::kWorker, ranks_[workers.source_rank]};
    if (roster_.has_weights(worker) &&
        (!roster_.has_weights(source) ||
         roster_.iteration_of(worker) > roster_.iteration_of(source)))
      workers.source_rank = rank;
  }
  for (const std::uint32_t index : ranks_) {
    const ProcessName worker{Role::kWorker, index};
    workers.shares_state |= source_ != StateSource::kPresent || !roster_.has_weights(worker) ||
                            roster_.iteration_of(worker) != work_.done();
  }
  work_.begin_membership(ranks_.size());
  ready_.clear();
  configure_seconds_ = now_seconds_;
  next_workers_ = std::move(workers);
  if (plan_.shards == 0) return configure_workers();
  machine_.follow(Cause::kShardsConfigured);
  actions_.push_back(ConfigureShards{source_});
}

void Controller::configure_workers() {
  machine_.follow(Cause::kWorkersConfigured);
  actions_.push_back(*next_workers_);
}

std::vector<ProcessName> Controller::unready() const {
  std::vector<ProcessName> missing;
  for (std::uint32_t i = 0; i < plan_.shards; ++i)
    if (!ready_.contains({Role::kShard, i})) missing.push_back({Role::kShard, i});
  if (state() == JobState::kLoading) return missing;
  for (const std::uint32_t index : ranks_)
    if (!ready_.contains({Role::kWorker, index})) missing.push_back({Role::kWorker, index});
  return missing;
}

void Controller::on_process_ready(const ProcessReady& event) {
  if (event.membership_epoch != membership_.epoch) return;
  if (state() != JobState::kLoading && state() != JobState::kConnecting) return;
  ready_.insert(event.process);
  const std::size_t workers = state() == JobState::kLoading ? 0 : ranks_.size();
  if (ready_.size() < plan_.shards + workers) return;
  if (!unready().empty()) return;
  if (state() == JobState::kConnecting) return begin_training();
  configure_workers();
}

void Controller::begin_training() {
  machine_.follow(Cause::kAllReady);
  has_trained_ = true;
  work_.begin_timing(now_seconds_);
  stuck_seconds_.reset();
  for (const ProcessName& process : ready_) roster_.settle(process);
  if (std::exchange(replans_, false)) plan_boundaries();
  const bool checkpoint_waits = checkpoint_wanted_ && !writing_;
  const bool at_a_boundary = boundary_wanted_ || checkpoint_waits || stops_here() ||
                             work_.done() >= planned_boundary() || reshape_is_due();
  if (!at_a_boundary) return extend_grant();
  tell_recovery();
  at_boundary();
}

void Controller::tell_recovery() {
  if (!break_) return;
  actions_.push_back(TellRecovery{break_->lost, membership_.first_iteration,
                                  break_->iterations_lost, now_seconds_ - break_->start_seconds});
  break_.reset();
}

// ---- Who takes too long. ----

void Controller::check_membership_deadlines() {
  const LimitsConfig& limits = plan_.limits;
  const auto kill = [this](const std::vector<ProcessName>& processes, const std::string& why) {
    for (const ProcessName& process : processes)
      if (killed_.insert(process).second) actions_.push_back(KillProcess{process, why});
  };
  const auto late = roster_.late(limits.start_seconds, now_seconds_);
  const std::string within = fmt::format("did not start within {} (limits.start_seconds)",
                                         format_duration(limits.start_seconds));
  if (state() != JobState::kEnding) kill(late, within);
  if (state() == JobState::kHalting && now_seconds_ - halt_seconds_ > halt_limit_seconds_)
    kill(roster_.halting(),
         fmt::format("did not halt within {}", format_duration(halt_limit_seconds_)));
  const bool configuring = state() == JobState::kLoading || state() == JobState::kConnecting;
  if (configuring && now_seconds_ - configure_seconds_ > limits.start_seconds)
    return recover_from_delay(fmt::format("{} did not get ready within {} (limits.start_seconds)",
                                          names_of(unready()),
                                          format_duration(limits.start_seconds)));
  if (stuck_seconds_ && now_seconds_ - *stuck_seconds_ > limits.heartbeat_seconds)
    recover_from_delay(stuck_reason_);
}

// Who does not answer a halt soon is taken for lost. Where all answer, they try again, but not for
// ever.
void Controller::recover_from_delay(const std::string& what) {
  if (++delays_ >= kDelayLimit) return fail(fmt::format("{}, {} times in a row", what, delays_));
  actions_.push_back(Announce{what + ": halting all to see who answers"});
  if (!break_) break_ = Break{now_seconds_, {}, what, 0};
  halt_all(Cause::kTooLate, plan_.limits.heartbeat_seconds);
}

}  // namespace scavenger::elastic
