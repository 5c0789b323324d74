// Decides what the job does next: a pure function step(event) -> actions. No clock, no I/O, no
// threads: the coordinator feeds it what happened, with the time, and carries out what it answers.
// docs/architecture.md has the table of states.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "elastic/control/boundary.h"
#include "runtime/config/job_config.h"
#include "runtime/protocol/control_message.h"
#include "runtime/training/membership.h"

namespace scavenger::elastic {

enum class Status { kTargetReached, kMaxEpochs, kMaxIterations, kMaxTime, kInterrupted, kFailed };
std::string name_of(Status status);  // as in report.json: "target_reached", ...

struct ProcessName {
  Role role = Role::kWorker;
  std::uint32_t index = 0;
  auto operator<=>(const ProcessName&) const = default;
  std::string text() const;  // "worker 1"
};

// ---- What can happen. ----
struct ProcessJoined {
  ProcessName process;
};
struct ProcessReady {
  ProcessName process;
};
struct IterationsDone {  // a worker has finished its part of all iterations below `count`
  std::uint32_t rank = 0;
  std::uint64_t count = 0;
};
struct EvaluationDone {
  double loss = 0.0;
  double accuracy = 0.0;
};
struct CheckpointSafe {};  // the state is copied: training may go on
struct CheckpointDone {    // written, or failed: the coordinator has reported which
  bool written = false;
};
struct ProcessLost {  // ended, hung or unreachable, without having been asked to end
  ProcessName process;
  std::string how;
};
struct JobImpossible {  // found while coming together: the checkpoint is of another model, and the
                        // like
  std::string reason;
};
struct Interrupted {};  // Ctrl-C
struct AllProcessesEnded {};
struct TimePassed {};  // at least once a second

using ControllerEvent = std::variant<ProcessJoined, ProcessReady, IterationsDone, EvaluationDone,
                                     CheckpointSafe, CheckpointDone, ProcessLost, JobImpossible,
                                     Interrupted, AllProcessesEnded, TimePassed>;

// ---- What to do about it. ----
struct ConfigureShards {};
struct ConfigureWorkers {};
struct GrantIterations {  // workers may go on until `until` iterations are done
  std::uint64_t until = 0;
};
struct EvaluateModel {
  Split split = Split::kTest;
};
struct TakeCheckpoint {
  bool is_best = false;
  std::optional<double> score;  // higher is better
};
struct EndProcesses {};
struct EndJob {
  Status status = Status::kFailed;
  std::string reason;
};
struct Announce {  // for people and the log
  std::string text;
};

using ControllerAction =
    std::variant<ConfigureShards, ConfigureWorkers, GrantIterations, EvaluateModel, TakeCheckpoint,
                 EndProcesses, EndJob, Announce>;

// What the job's end and pace are decided by.
struct ControllerPlan {
  std::uint32_t shards = 1;
  Membership membership;
  std::uint64_t samples_per_epoch = 0;
  StopConfig stop;
  EvaluationConfig evaluation;
  CheckpointConfig checkpoint;
  LimitsConfig limits;
  bool resumes_checkpoint = false;   // there is one of the first iteration
  double seconds_before = 0.0;       // of the job's life, before this process
  std::optional<double> best_score;  // so far, of a resumed job
};

class Controller final {
 public:
  Controller(ControllerPlan plan, double now_seconds);

  // `now_seconds` never goes back. Actions are to be carried out in order.
  std::vector<ControllerAction> step(const ControllerEvent& event, double now_seconds);

  std::uint64_t iterations_done() const { return done_; }
  const Membership& membership() const { return plan_.membership; }
  const std::optional<double>& best_score() const { return plan_.best_score; }
  // How the job will end, once that is decided.
  const std::optional<EndJob>& ending() const { return ending_; }

 private:
  enum class State {
    kJoining,
    kLoading,
    kConnecting,
    kTraining,
    kEvaluating,
    kSnapshotting,
    kDraining,
    kEnding,
    kEnded
  };

  void on(const ProcessJoined& event);
  void on(const ProcessReady& event);
  void on(const IterationsDone& event);
  void on(const EvaluationDone& event);
  void on(const CheckpointSafe& event);
  void on(const CheckpointDone& event);
  void on(const ProcessLost& event);
  void on(const JobImpossible& event);
  void on(const Interrupted& event);
  void on(const AllProcessesEnded& event);
  void on(const TimePassed& event);

  void begin_training();
  void extend_grant();
  void at_boundary();
  void after_evaluation();
  void after_checkpoint();
  void finish(Status status, std::string reason);
  void fail(std::string reason);
  void check_deadlines();
  void ask_for_timed_boundaries();
  bool stops_here();
  bool evaluation_is_due() const;
  std::uint64_t planned_boundary() const;
  std::set<ProcessName> missing(const std::set<ProcessName>& present) const;

  ControllerPlan plan_;
  const double start_seconds_;
  double now_seconds_;
  State state_ = State::kJoining;
  std::vector<ControllerAction> actions_;

  std::set<ProcessName> joined_;
  std::set<ProcessName> ready_;
  std::vector<std::uint64_t> done_by_rank_;
  std::uint64_t done_;              // iterations that all workers have finished
  std::uint64_t granted_;           // iterations that workers may do
  double progress_seconds_ = 0.0;   // when done_ last grew
  double iteration_seconds_ = 0.0;  // smoothed
  double boundary_seconds_ = 0.0;   // when the evaluation or the copying began
  std::uint64_t next_evaluation_ = kNever;
  std::uint64_t next_checkpoint_ = kNever;
  double last_checkpoint_seconds_;

  bool boundary_wanted_ = false;  // stop extending the grant
  bool writing_ = false;          // a checkpoint is on its way to disk
  bool checkpoint_wanted_ = false;
  std::optional<std::uint64_t> evaluated_at_;
  std::optional<double> score_here_;  // of the evaluation at this boundary
  bool best_here_ = false;
  std::optional<std::uint64_t> checkpointed_at_;
  std::optional<EndJob> ending_;
};

}  // namespace scavenger::elastic
