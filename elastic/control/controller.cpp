#include "elastic/control/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/text.h"
#include "runtime/config/metric.h"

namespace scavenger::elastic {
namespace {

// The last checkpoint is tried again so often: after 1, 2 and 4 seconds.
constexpr std::uint32_t kMostRetries = 3;

std::uint64_t next_evaluation(const ControllerPlan& plan, const Membership& membership,
                              std::uint64_t done) {
  if (!plan.evaluation.enabled) return kNever;
  return next_boundary({plan.evaluation.every_epochs, plan.evaluation.every_iterations}, membership,
                       done, plan.samples_per_epoch);
}

}  // namespace

Controller::Controller(ControllerPlan plan, double now_seconds)
    : plan_(std::move(plan)),
      start_seconds_(now_seconds),
      now_seconds_(now_seconds),
      roster_(plan_.membership.workers(), plan_.shards, now_seconds),
      membership_(plan_.membership),
      wanted_workers_(plan_.membership.workers()),
      wanted_batch_size_(plan_.membership.batch_size),
      wanted_rate_factor_(plan_.membership.rate_factor),
      work_(plan_.membership.first_iteration),
      last_checkpoint_seconds_(now_seconds),
      watched_seconds_(now_seconds) {
  if (plan_.resumes_checkpoint) checkpointed_at_ = work_.done();
  SCAVENGER_CHECK(membership_.workers() > 0 && plan_.samples_per_epoch > 0);
  SCAVENGER_CHECK((plan_.shards == 0) == (plan_.state_home == StateHome::kWorkers));
}

// ---- Training. ----

void Controller::plan_boundaries() {
  evaluated_at_.reset();
  score_here_.reset();
  best_here_ = false;
  awaits_disk_ = false;
  next_evaluation_ = next_evaluation(plan_, membership_, work_.done());
  next_checkpoint_ =
      next_boundary({plan_.checkpoint.every_epochs, plan_.checkpoint.every_iterations}, membership_,
                    work_.done(), plan_.samples_per_epoch);
}

std::uint64_t Controller::planned_boundary() const {
  std::uint64_t boundary = std::min(next_evaluation_, next_checkpoint_);
  if (plan_.stop.max_iterations > 0) boundary = std::min(boundary, plan_.stop.max_iterations);
  if (plan_.stop.max_epochs > 0.0)
    boundary = std::min(boundary, iterations_for_epochs(plan_.stop.max_epochs, membership_,
                                                        plan_.samples_per_epoch));
  return boundary;
}

void Controller::extend_grant() {
  if (state() != JobState::kTraining || boundary_wanted_ || paused_) return;
  const GrantLength length = is_at_look() ? GrantLength::kShort : GrantLength::kUsual;
  if (const auto until = work_.extend_grant(planned_boundary(), length))
    actions_.push_back(GrantIterations{*until});
}

void Controller::on_iterations_done(const IterationsDone& event) {
  if (state() != JobState::kTraining) return work_.report_halted(event.rank, event.count);
  if (!work_.report(event.rank, event.count, now_seconds_)) return;
  delays_ = fruitless_ = 0;
  tell_recovery();
  ask_for_timed_boundaries();
  if (work_.is_at_rest() && (boundary_wanted_ || work_.done() == planned_boundary()))
    return at_boundary();
  extend_grant();
}

// The nearest one: at once where nothing is granted, since no iteration would lead to it.
void Controller::go_to_boundary() {
  boundary_wanted_ = true;
  if (state() == JobState::kTraining && work_.is_at_rest()) at_boundary();
}

// ---- At a boundary: no iteration is running. ----

bool Controller::stops_here() {
  if (ending_) return true;
  const StopConfig& stop = plan_.stop;
  if (stop.max_iterations > 0 && work_.done() >= stop.max_iterations) {
    ending_ = {Status::kMaxIterations, fmt::format("{} iterations are done", work_.done())};
  } else if (stop.max_epochs > 0.0 &&
             work_.done() >=
                 iterations_for_epochs(stop.max_epochs, membership_, plan_.samples_per_epoch)) {
    ending_ = {Status::kMaxEpochs, fmt::format("{:g} epochs are done", stop.max_epochs)};
  }
  return ending_.has_value();
}

bool Controller::evaluation_is_due() const {
  if (!plan_.evaluation.enabled) return false;
  if (evaluated_at_ == work_.done()) return false;
  if (ending_ && (ending_->status == Status::kInterrupted || ending_->status == Status::kMaxCost))
    return false;  // somebody waits for us to end, or pays for it
  return work_.done() >= next_evaluation_ || ending_.has_value();
}

void Controller::at_boundary() {
  boundary_wanted_ = false;
  stops_here();
  if (!evaluation_is_due()) return after_evaluation();
  machine_.follow(Cause::kEvaluationDue);
  boundary_seconds_ = now_seconds_;
  actions_.push_back(EvaluateModel{plan_.stop.target ? plan_.stop.target->split : Split::kTest});
}

void Controller::on_evaluation_done(const EvaluationDone& event) {
  if (state() != JobState::kEvaluating) return;
  evaluated_at_ = work_.done();
  next_evaluation_ = next_evaluation(plan_, membership_, work_.done());
  const double sign = is_better_when_high(judged_metric(plan_.stop)) ? 1.0 : -1.0;
  score_here_ = sign * event.value;
  if (!std::isfinite(*score_here_)) score_here_.reset();  // nothing would ever be better than NaN
  best_here_ = score_here_ && (!plan_.best_score || *score_here_ > *plan_.best_score);
  if (best_here_) plan_.best_score = score_here_;
  if (plan_.stop.target) {
    if (score_here_ && *score_here_ >= sign * plan_.stop.target->value)
      ending_ = {Status::kTargetReached,
                 fmt::format("the target was reached after {} iterations", work_.done())};
  }
  if (event.stopping_value) consider_early_stop(*event.stopping_value);
  after_evaluation();
}

void Controller::consider_early_stop(double value) {
  const auto& rule = plan_.stop.early_stopping;
  if (!rule) return;
  if (!plan_.early_stop) plan_.early_stop.emplace();
  note_evaluation(*rule, work_.done(), value, *plan_.early_stop);
  if (!ending_ && is_exhausted(*rule, *plan_.early_stop))
    ending_ = {Status::kEarlyStopping, early_stop_reason(*rule, *plan_.early_stop)};
}

// Who ends by early stopping wants that model, and not the last.
bool Controller::best_must_be_kept() const {
  return plan_.stop.early_stopping && plan_.checkpoint.keep_best && best_here_ &&
         evaluated_at_ == work_.done();
}

void Controller::after_evaluation() {
  const double every_seconds = plan_.checkpoint.every_seconds;
  const bool by_time =
      every_seconds > 0.0 && now_seconds_ - last_checkpoint_seconds_ >= every_seconds;
  const bool is_due = work_.done() >= next_checkpoint_ || by_time || checkpoint_wanted_ ||
                      ending_.has_value() || best_must_be_kept();
  if (by_time && checkpointed_at_ == work_.done()) last_checkpoint_seconds_ = now_seconds_;
  if (!is_due || checkpointed_at_ == work_.done()) return after_checkpoint();
  if (writing_ && !ending_ && best_must_be_kept()) {
    awaits_disk_ = true;
    machine_.follow(Cause::kDiskBusy);
    boundary_seconds_ = now_seconds_;
    return;
  }
  if (writing_ && !ending_) {  // one at a time: this one is taken as soon as the disk is free
    checkpoint_wanted_ = true;
    return after_checkpoint();
  }
  if (writing_) return machine_.follow(Cause::kEndDue);
  machine_.follow(Cause::kCheckpointDue);
  boundary_seconds_ = now_seconds_;
  writing_ = true;
  checkpoint_wanted_ = false;
  checkpointed_at_ = work_.done();
  last_checkpoint_seconds_ = now_seconds_;
  actions_.push_back(TakeCheckpoint{best_here_ && evaluated_at_ == work_.done(),
                                    evaluated_at_ == work_.done() ? score_here_ : std::nullopt});
}

void Controller::on_checkpoint_safe(const CheckpointSafe&) {
  if (state() == JobState::kSnapshotting && !awaits_disk_) after_checkpoint();
}

void Controller::after_checkpoint() {
  if (work_.done() >= next_checkpoint_)
    next_checkpoint_ =
        next_boundary({plan_.checkpoint.every_epochs, plan_.checkpoint.every_iterations},
                      membership_, work_.done(), plan_.samples_per_epoch);
  if (ending_) {
    machine_.follow(Cause::kEndDue);
    if (!writing_) finish(Cause::kWeightsWritten, ending_->status, ending_->reason);
    return;
  }
  if (reshape_is_due()) return take_break(Cause::kReshapeDue, reshape_reason());
  if (state() != JobState::kTraining) machine_.follow(Cause::kNothingDue);
  work_.begin_timing(now_seconds_);
  extend_grant();
}

void Controller::on_checkpoint_done(const CheckpointDone& event) {
  writing_ = false;
  if (event.written)
    checkpoint_seconds_ = std::max(checkpoint_seconds_, now_seconds_ - last_checkpoint_seconds_);
  if (!event.written) checkpointed_at_.reset();
  if (event.by_loss) checkpoint_wanted_ = true;
  if (state() == JobState::kGathering) return gather();
  if (awaits_disk_ && state() == JobState::kSnapshotting) {
    awaits_disk_ = false;
    return after_evaluation();
  }
  if (state() == JobState::kDraining) {
    if (checkpointed_at_ == work_.done())
      return finish(Cause::kWeightsWritten, ending_->status, ending_->reason);
    if (event.by_loss) {  // what is gone was not missed until now
      replace_gone();
      return take_break(Cause::kStatePartLost, "the last checkpoint was lost with a process");
    }
    if (!event.written) return retry_last_checkpoint();
    return after_evaluation();  // the last checkpoint had to wait for this one
  }
  if (state() == JobState::kTraining && checkpoint_wanted_) boundary_wanted_ = true;
}

// Somebody may make room on the disk meanwhile. Without weights of its end a job has failed, unless
// it ends to save money: then it must not wait.
void Controller::retry_last_checkpoint() {
  if (ending_->status == Status::kMaxCost || last_retries_ == kMostRetries)
    return finish(Cause::kFailure, Status::kFailed,
                  ending_->reason + ", but the weights of the end could not be written");
  const double delay_seconds = std::ldexp(1.0, static_cast<int>(last_retries_++));
  retry_seconds_ = now_seconds_ + delay_seconds;
  actions_.push_back(Announce{
      fmt::format("the last checkpoint is tried again in {}", format_duration(delay_seconds))});
}

// ---- Ending. ----

void Controller::finish(Cause cause, Status status, std::string reason) {
  ending_ = {status, std::move(reason)};
  stuck_seconds_.reset();
  machine_.follow(cause);
  actions_.push_back(EndProcesses{});
}

void Controller::fail(std::string reason, bool bad_input) {
  if (state() == JobState::kEnding || state() == JobState::kEnded) return;
  finish(Cause::kFailure, Status::kFailed, std::move(reason));
  const bool nothing_was_trained = work_.done() <= plan_.membership.first_iteration;
  ending_->bad_input = bad_input && nothing_was_trained;
}

void Controller::on_job_impossible(const JobImpossible& event) {
  fail(event.reason, event.bad_input);
}

void Controller::on_checkpoint_wanted(const CheckpointWanted&) {
  checkpoint_wanted_ = true;
  if (state() == JobState::kTraining && !writing_) go_to_boundary();  // else as soon as it can be
}

void Controller::on_pause_wanted(const PauseWanted& event) {
  if (paused_ == event.pauses || ending_) return;
  paused_ = event.pauses;
  work_.begin_timing(now_seconds_);
  if (paused_) return on_checkpoint_wanted({});
  extend_grant();
}

void Controller::on_interrupted(const Interrupted& event) {
  if (state() == JobState::kEnding || ending_) return;
  EndJob interrupted{Status::kInterrupted, "interrupted by " + event.by};
  if (!has_trained_) return finish(Cause::kStopAtOnce, interrupted.status, interrupted.reason);
  ending_ = std::move(interrupted);
  go_to_boundary();
}

// What it may take from here to a checkpoint on disk and the end of all processes, generously.
double Controller::seconds_to_stop() const {
  constexpr double kEndSeconds = 2.0;
  constexpr double kFirstCheckpointSeconds = 3.0;  // where none was written yet
  const double checkpoint_seconds =
      checkpoint_seconds_ > 0.0 ? checkpoint_seconds_ : kFirstCheckpointSeconds;
  return kEndSeconds + 2.0 * (work_.granted_seconds() + checkpoint_seconds);
}

// The limit is a hard one: the job stops while there is still enough for a checkpoint, and at once
// where there is not.
void Controller::on_cost_metered(const CostMetered& event) {
  const double limit = plan_.stop.max_cost;
  if (limit <= 0.0 || state() == JobState::kEnding) return;
  const double dollars_per_second = event.dollars_per_hour / 3600.0;
  const double bound = event.dollars + event.dollars_to_return;
  std::string reason =
      fmt::format("${:.4f} of ${:g} (stop.max_cost) are spent", event.dollars, limit);
  if (event.dollars_to_return > 0.0)
    reason += fmt::format("; returning the machines may cost ${:.4f}", event.dollars_to_return);
  constexpr double kNextMeteringSeconds = 1.0;
  if (bound + dollars_per_second * kNextMeteringSeconds >= limit)
    return finish(Cause::kStopAtOnce, Status::kMaxCost, reason);
  const double dollars_to_end = dollars_per_second * seconds_to_stop();
  if (ending_ || bound + dollars_to_end < limit) return;
  reason += fmt::format("; ending with a checkpoint may cost ${:.4f}", dollars_to_end);
  ending_ = {Status::kMaxCost, reason};
  if (!has_trained_) return finish(Cause::kStopAtOnce, ending_->status, ending_->reason);
  go_to_boundary();
}

void Controller::on_all_processes_ended(const AllProcessesEnded&) {
  if (state() != JobState::kEnding) return;
  machine_.follow(Cause::kProcessesEnded);
  actions_.push_back(*ending_);
}

void Controller::on_time_passed(const TimePassed&) {
  check_membership_deadlines();
  check_deadlines();
  replace_deferred();
  start_without_the_rest();
  ask_for_timed_boundaries();
  if (boundary_wanted_) go_to_boundary();
  if (state() == JobState::kDraining && retry_seconds_ && now_seconds_ >= *retry_seconds_) {
    retry_seconds_.reset();
    if (roster_.gone().empty()) return after_evaluation();
    replace_gone();  // who was lost meanwhile was not missed until now
    take_break(Cause::kStatePartLost, "the last checkpoint could not be written");
  }
  watch_for_standstill();
}

void Controller::check_deadlines() {
  const LimitsConfig& limits = plan_.limits;
  const bool at_work = state() == JobState::kEvaluating || state() == JobState::kSnapshotting;
  if (at_work && now_seconds_ - boundary_seconds_ > limits.boundary_seconds)
    return recover_from_delay(
        fmt::format("{} did not end within {} (limits.boundary_seconds)",
                    state() == JobState::kEvaluating ? "an evaluation" : "copying the state",
                    format_duration(limits.boundary_seconds)));
  if (state() != JobState::kTraining || work_.is_at_rest() ||
      work_.seconds_without_progress(now_seconds_) <= limits.iteration_seconds)
    return;
  std::vector<ProcessName> behind;
  for (const std::uint32_t rank : work_.ranks_behind())
    behind.push_back({Role::kWorker, ranks_[rank]});
  recover_from_delay(
      fmt::format("iteration {} did not end within {} (limits.iteration_seconds): waiting for {}",
                  work_.done(), format_duration(limits.iteration_seconds), names_of(behind)));
}

// The job ends at its next boundary, with weights; at once if no worker of it is there or has a
// machine. If its workers do not come together again in time, the last checkpoint is what is kept.
void Controller::end_when_time_has_passed() {
  const double limit_seconds = plan_.stop.max_seconds;
  const double over_seconds = plan_.seconds_before + now_seconds_ - start_seconds_ - limit_seconds;
  if (limit_seconds <= 0.0 || over_seconds < 0.0 || state() == JobState::kEnding) return;
  const bool is_first = !ending_;
  if (is_first)
    ending_ = {Status::kMaxTime, fmt::format("{} have passed", format_duration(limit_seconds))};
  if (ending_->status != Status::kMaxTime) return;
  if (is_first || state() == JobState::kTraining) boundary_wanted_ = true;
  if (state() != JobState::kGathering) return;
  const bool nobody_comes =
      roster_.joined_worker_count() == 0 && !roster_.is_any_coming(0.0, now_seconds_);
  if (!has_trained_ && nobody_comes)
    return finish(Cause::kStopAtOnce, ending_->status, ending_->reason);
  if (has_trained_ && over_seconds > plan_.limits.start_seconds)
    finish(Cause::kStopAtOnce, ending_->status,
           ending_->reason + ", and its workers did not come together again");
}

// What the clock asks for: a checkpoint, or the end.
void Controller::ask_for_timed_boundaries() {
  end_when_time_has_passed();
  if (state() != JobState::kTraining) return;
  if (reshape_is_due()) boundary_wanted_ = true;
  const double every_seconds = plan_.checkpoint.every_seconds;
  if (every_seconds > 0.0 && !writing_ && now_seconds_ - last_checkpoint_seconds_ >= every_seconds)
    boundary_wanted_ = true;
}

}  // namespace scavenger::elastic
