// Decides what the job does next: a pure function step(event) -> actions. No clock, no I/O, no
// threads: the coordinator feeds it what happened, with the time, and carries out what it answers.
// docs/design/architecture.md has the table of states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elastic/control/boundary.h"
#include "elastic/control/early_stopping.h"
#include "elastic/control/job_events.h"
#include "elastic/control/job_state.h"
#include "elastic/control/roster.h"
#include "elastic/control/work_progress.h"
#include "runtime/config/job_config.h"
#include "runtime/training/membership.h"

namespace scavenger::elastic {

// What the job's end and pace are decided by.
struct ControllerPlan {
  std::uint32_t shards = 1;  // none if the workers hold the state
  StateHome state_home = StateHome::kShards;
  Membership membership;  // the first
  std::uint64_t samples_per_epoch = 0;
  StopConfig stop;
  EvaluationConfig evaluation;
  CheckpointConfig checkpoint;
  LimitsConfig limits;
  FaultsConfig faults;
  bool resumes_checkpoint = false;           // there is one of the first iteration
  double seconds_before = 0.0;               // of the job's life, before this process
  std::optional<double> best_score;          // so far, of a resumed job
  std::optional<EarlyStopState> early_stop;  // the same
};

// It has more than 25 methods, one for each event and one for each step that several events lead
// to, and more than 20 fields, the state that a step decides by. Pure parts of it are classes of
// their own: the processes (Roster), how far they are (WorkProgress), states and transitions
// (StateMachine), boundaries, shares and early stopping. What is left decides together: a lost
// worker, for instance, changes the membership, the grant, the checkpoint that is due and how the
// job ends.
class Controller final {
 public:
  Controller(ControllerPlan plan, double now_seconds);

  // `now_seconds` never goes back. Actions are to be carried out in order.
  std::vector<ControllerAction> step(const ControllerEvent& event, double now_seconds);

  std::uint64_t iterations_done() const { return work_.done(); }
  const Membership& membership() const { return membership_; }
  // The indices of the membership's workers, by rank.
  const std::vector<std::uint32_t>& ranks() const { return ranks_; }
  const std::optional<double>& best_score() const { return plan_.best_score; }
  const std::optional<EarlyStopState>& early_stop() const { return plan_.early_stop; }
  // What the job has, or is on its way to.
  std::uint32_t wanted_workers() const { return wanted_workers_; }
  std::uint32_t wanted_batch_size() const { return wanted_batch_size_; }
  double wanted_rate_factor() const { return wanted_rate_factor_; }
  // What the job has, or is on its way to, is wanted to see what it is like (ReshapeWanted).
  bool is_look() const { return is_look_; }
  // It has that, and has just begun to see what it is like: every iteration may be the last there.
  bool is_at_look() const {
    constexpr std::uint64_t kCloselyWatched = 32;
    return is_look_ && membership_.workers() == wanted_workers_ &&
           membership_.batch_size == wanted_batch_size_ &&
           work_.done() < membership_.first_iteration + kCloselyWatched;
  }
  // It is part of the job, on its way, or about to be asked for again.
  bool expects(const ProcessName& process) const { return roster_.expects(process); }
  JobState state() const { return machine_.state(); }
  // The transitions of the last step, in order.
  const std::vector<const Transition*>& transitions() const { return machine_.taken(); }
  // For people: "training", "evaluating", ...
  std::string state_name() const;
  // Nothing runs, and nothing will until somebody wants the pause to end.
  bool is_paused() const { return paused_ && state() == JobState::kTraining && work_.is_at_rest(); }
  // How the job will end, once that is decided.
  const std::optional<EndJob>& ending() const { return ending_; }

 private:
  void handle(const ControllerEvent& event);

  // What interrupted the training, and since when.
  struct Break {
    double start_seconds = 0.0;
    std::vector<ProcessName> lost;
    std::string reason;
    std::uint64_t iterations_lost = 0;
  };

  // Coming together: controller_membership.cpp.
  void on_process_started(const ProcessStarted& event);
  void on_machine_refused(const MachineRefused& event);
  void on_process_joined(const ProcessJoined& event);
  void on_process_ready(const ProcessReady& event);
  void on_process_halted(const ProcessHalted& event);
  void on_process_stuck(const ProcessStuck& event);
  void on_checkpoint_found(const CheckpointFound& event);
  void on_process_lost(const ProcessLost& event);
  void on_loss_judged(const LossJudged& event);
  void take_break(Cause cause, const std::string& reason);
  void halt_all(Cause cause, double limit_seconds);
  void ask_to_halt(const std::vector<ProcessName>& processes);
  bool breaks_the_membership(const ProcessName& process) const;
  bool is_fruitless() const;
  void replace_soon(const ProcessName& process);
  void replace(const ProcessName& process);
  void replace_gone();
  void replace_deferred();
  bool is_wait_over() const;
  void start_without_the_rest();
  void gather();
  void go_on_from(StateSource source, std::uint64_t iteration, std::uint64_t position);
  void forget_what_was_lost();
  void configure();
  void configure_workers();
  void begin_training();
  void tell_recovery();
  void check_membership_deadlines();
  void recover_from_delay(const std::string& what);
  std::vector<ProcessName> unready() const;

  // Other K and B: controller_reshape.cpp.
  void on_reshape_wanted(const ReshapeWanted& event);
  void on_rate_factor_wanted(const RateFactorWanted& event);
  void on_shares_wanted(const SharesWanted& event);
  void on_share_pinned(const SharePinned& event);
  void on_workers_dismissed(const WorkersDismissed& event);
  void change_shares(const std::string& reason);
  void on_process_left(const ProcessLeft& event);
  void on_process_leaving(const ProcessLeaving& event);
  void staff();
  void go_on_with_those_there();
  bool reshape_is_due() const;
  std::string reshape_reason() const;
  std::vector<std::uint32_t> next_ranks() const;
  std::size_t next_worker_count() const;  // of next_ranks()
  void take_ranks();
  void release_the_others();
  void release(const ProcessName& process);
  void release_those_who_wait();

  // A job in which nothing can happen any more: controller_watchdog.cpp.
  void watch_for_standstill();
  std::string awaited_in_vain() const;

  // Training, boundaries and the end: controller.cpp.
  void on_iterations_done(const IterationsDone& event);
  void on_evaluation_done(const EvaluationDone& event);
  void on_checkpoint_safe(const CheckpointSafe& event);
  void on_checkpoint_done(const CheckpointDone& event);
  void on_job_impossible(const JobImpossible& event);
  void on_checkpoint_wanted(const CheckpointWanted& event);
  void on_pause_wanted(const PauseWanted& event);
  void on_interrupted(const Interrupted& event);
  void on_cost_metered(const CostMetered& event);
  void on_all_processes_ended(const AllProcessesEnded& event);
  void on_time_passed(const TimePassed& event);
  void plan_boundaries();
  void extend_grant();
  void go_to_boundary();
  void at_boundary();
  void after_evaluation();
  void after_checkpoint();
  void retry_last_checkpoint();
  void finish(Cause cause, Status status, std::string reason);
  void fail(std::string reason, bool bad_input = false);
  void check_deadlines();
  void ask_for_timed_boundaries();
  void end_when_time_has_passed();
  double seconds_to_stop() const;
  bool stops_here();
  bool evaluation_is_due() const;
  void consider_early_stop(double value);
  bool best_must_be_kept() const;
  std::uint64_t planned_boundary() const;

  ControllerPlan plan_;
  const double start_seconds_;
  double now_seconds_;
  StateMachine machine_;
  std::vector<ControllerAction> actions_;

  Roster roster_;
  Membership membership_;
  std::vector<std::uint32_t> ranks_;
  std::uint32_t wanted_workers_;
  std::uint32_t wanted_batch_size_;
  double wanted_rate_factor_;
  bool is_look_ = false;
  std::string wanted_reason_;  // by whom and why, if it was asked for
  ShareRule share_rule_;
  std::string shares_reason_;                     // of a change of shares that is to be made
  std::string rate_reason_;                       // of one of the learning rate
  std::optional<double> first_joined_seconds_;    // when the first worker was there
  double newcomer_seconds_ = 0.0;                 // when the first of those that wait came
  std::optional<ConfigureWorkers> next_workers_;  // to be told when the shards are ready
  bool has_begun_ = false;                        // the first membership was configured
  bool has_trained_ = false;                      // and got ready
  StateSource source_ = StateSource::kInitial;
  bool replans_ = true;           // boundaries are to be planned anew
  std::set<ProcessName> ready_;   // of this membership
  std::set<ProcessName> killed_;  // already killed; ProcessLost will follow
  std::optional<Break> break_;
  std::uint32_t losses_ = 0;
  std::uint32_t never_joined_ = 0;  // workers in a row, wherever they were started
  std::uint32_t delays_ = 0;        // in a row that nobody was lost in
  std::uint32_t fruitless_ =
      0;  // memberships in a row that lost a process at their first iteration
  std::optional<double> stuck_seconds_;
  std::string stuck_reason_;
  bool shards_asked_ = false;  // to halt, if they keep memory: after the workers
  double halt_seconds_ = 0.0;
  double halt_limit_seconds_ = 0.0;
  double configure_seconds_ = 0.0;

  WorkProgress work_;
  double boundary_seconds_ = 0.0;  // when the evaluation or the copying began
  std::uint64_t next_evaluation_ = kNever;
  std::uint64_t next_checkpoint_ = kNever;
  double last_checkpoint_seconds_;
  double checkpoint_seconds_ = 0.0;  // the longest so far, from asking for it to the disk

  double watched_seconds_ = 0.0;     // the time of the last look for a standstill
  double standstill_seconds_ = 0.0;  // how long nothing that is waited for could happen

  bool boundary_wanted_ = false;  // stop extending the grant
  bool paused_ = false;
  bool writing_ = false;      // a checkpoint is on its way to disk
  bool awaits_disk_ = false;  // the boundary's checkpoint is to be taken once that is done
  bool checkpoint_wanted_ = false;
  std::uint32_t last_retries_ = 0;       // of the checkpoint that the job ends with
  std::optional<double> retry_seconds_;  // when it is tried again
  std::optional<std::uint64_t> evaluated_at_;
  std::optional<double> score_here_;  // of the evaluation at this boundary
  bool best_here_ = false;
  std::optional<std::uint64_t> checkpointed_at_;
  std::optional<EndJob> ending_;
};

}  // namespace scavenger::elastic
