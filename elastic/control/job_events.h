// What can happen to a job, and what can be done about it: the controller's two languages. Each
// event and action has its name in decisions.jsonl, kName, so that the order of the variants does
// not matter.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "elastic/control/share_rule.h"
#include "runtime/base/named_variant.h"
#include "runtime/config/job_config.h"
#include "runtime/vocabulary/role.h"
#include "runtime/vocabulary/status.h"

namespace scavenger::elastic {

struct ProcessName {
  Role role = Role::kWorker;
  std::uint32_t index = 0;
  auto operator<=>(const ProcessName&) const = default;
  std::string text() const;  // "worker 1"
};
std::string names_of(const std::vector<ProcessName>& processes);  // "worker 0 and shard 1"

// ---- What can happen. ----
// Its machine is there: from now on it has limits.start_seconds to join.
struct ProcessStarted {
  static constexpr std::string_view kName = "process_started";
  ProcessName process;
};

// It was not started, since no machine could be had for it.
struct MachineRefused {
  static constexpr std::string_view kName = "machine_refused";
  ProcessName process;
  std::string why;
  std::optional<double> retry_after_seconds;  // none: never
};

struct ProcessJoined {
  static constexpr std::string_view kName = "process_joined";
  ProcessName process;
};

struct ProcessReady {
  static constexpr std::string_view kName = "process_ready";
  ProcessName process;
  std::uint32_t membership_epoch = 0;
};

// The fields of its Halted message.
struct ProcessHalted {
  static constexpr std::string_view kName = "process_halted";
  ProcessName process;
  std::uint64_t iteration = 0;
  bool has_weights = false;
};

// It has lost a connection to another, and waits to be halted.
struct ProcessStuck {
  static constexpr std::string_view kName = "process_stuck";
  ProcessName process;
  std::string reason;
};

// A worker has finished its part of all iterations below `count`.
struct IterationsDone {
  static constexpr std::string_view kName = "iterations_done";
  std::uint32_t rank = 0;
  std::uint64_t count = 0;
};

struct EvaluationDone {
  static constexpr std::string_view kName = "evaluation_done";
  double value = 0.0;                    // of judged_metric()
  std::optional<double> stopping_value;  // of early stopping's metric, if there is that
};

// The state is copied: training may go on.
struct CheckpointSafe {
  static constexpr std::string_view kName = "checkpoint_safe";
};

// Written, or not: the coordinator has reported which.
struct CheckpointDone {
  static constexpr std::string_view kName = "checkpoint_done";
  bool written = false;
  bool by_loss = false;  // not written because of a process that was lost
};

// The answer to FindCheckpoint; no iteration: there is none.
struct CheckpointFound {
  static constexpr std::string_view kName = "checkpoint_found";
  std::optional<std::uint64_t> iteration;
  std::uint64_t position = 0;
};

// It is gone, without having been asked to end.
struct ProcessLost {
  static constexpr std::string_view kName = "process_lost";
  ProcessName process;
  std::string how;
  bool by_itself = false;     // it found an error that its replacement would find again
  bool with_machine = false;  // its machine was taken away: it is no fault of its own
  bool bad_input = false;     // the error is in what the user gave
  // Whether its machine may have been taken away, which LossJudged will tell. Absent: no.
  std::optional<bool> is_in_doubt = {};
};

// What is known by now of a loss that was in doubt.
struct LossJudged {
  static constexpr std::string_view kName = "loss_judged";
  ProcessName process;
  std::string how;
  bool with_machine = false;
};

// Found while coming together: the checkpoint is of another model, and the
// like.
struct JobImpossible {
  static constexpr std::string_view kName = "job_impossible";
  std::string reason;
  bool bad_input = false;
};

// It was released, and has ended.
struct ProcessLeft {
  static constexpr std::string_view kName = "process_left";
  ProcessName process;
};

// A worker whose machine is about to be taken away.
struct ProcessLeaving {
  static constexpr std::string_view kName = "process_leaving";
  ProcessName process;
  std::string reason;
};

// Requires 0 < workers <= batch_size.
struct ReshapeWanted {
  static constexpr std::string_view kName = "reshape_wanted";
  std::uint32_t workers = 0;
  std::uint32_t batch_size = 0;
  std::string reason;
  double rate_factor = 1.0;  // what the learning rate is multiplied with at that batch size
  // To see what that is like, and to go back soon: workers that take no part wait meanwhile, and
  // grants are short. Older logs do not say it.
  std::optional<bool> is_look = std::nullopt;
};

// If B stays as it is; it says nothing if another B is wanted.
struct RateFactorWanted {
  static constexpr std::string_view kName = "rate_factor_wanted";
  std::uint32_t batch_size = 0;
  double factor = 1.0;
  std::string reason;
};

// In this membership, from the next boundary on, and in those to come.
struct SharesWanted {
  static constexpr std::string_view kName = "shares_wanted";
  ShareRule rule;
  std::string reason;
};

// One worker gets so many samples from the next boundary on, whatever the rule says, and is the
// only one with such a share; 0: all follow the rule again. Whether it is there yet does not
// matter.
struct SharePinned {
  static constexpr std::string_view kName = "share_pinned";
  std::uint32_t worker = 0;
  std::uint32_t share = 0;
  std::string reason;
};

// They leave at the next boundary. A ReshapeWanted that follows says how many go on; until then
// their places are not filled.
struct WorkersDismissed {
  static constexpr std::string_view kName = "workers_dismissed";
  std::vector<std::uint32_t> workers;
};

struct CheckpointWanted {
  static constexpr std::string_view kName = "checkpoint_wanted";
};

// At the next boundary, with a checkpoint; or its end.
struct PauseWanted {
  static constexpr std::string_view kName = "pause_wanted";
  bool pauses = true;
};

// Ctrl-C, or whoever else may end the job.
struct Interrupted {
  static constexpr std::string_view kName = "interrupted";
  std::string by = "the user";
};

// At least once a second, where something costs anything.
struct CostMetered {
  static constexpr std::string_view kName = "cost_metered";
  double dollars = 0.0;  // of the job's whole life, until now
  double dollars_per_hour = 0.0;
  double dollars_to_return = 0.0;  // that machines may cost from their release to their end
};

struct AllProcessesEnded {
  static constexpr std::string_view kName = "all_processes_ended";
};

// At least once a second.
struct TimePassed {
  static constexpr std::string_view kName = "time_passed";
};

using ControllerEvent =
    std::variant<ProcessStarted, MachineRefused, ProcessJoined, ProcessReady, ProcessHalted,
                 ProcessStuck, IterationsDone, EvaluationDone, CheckpointSafe, CheckpointDone,
                 CheckpointFound, ProcessLost, LossJudged, JobImpossible, ProcessLeft,
                 ProcessLeaving, ReshapeWanted, RateFactorWanted, SharesWanted, SharePinned,
                 WorkersDismissed, CheckpointWanted, PauseWanted, Interrupted, CostMetered,
                 AllProcessesEnded, TimePassed>;
static_assert(have_different_names<ControllerEvent>());

// ---- What to do about it. ----
// Where a membership's weights and optimizer state come from: those who hold it, the checkpoint
// that was found, or the beginning.
enum class StateSource { kPresent, kCheckpoint, kInitial };

// In place of one that is gone, or one more; a worker needs a machine.
struct StartProcess {
  static constexpr std::string_view kName = "start_process";
  ProcessName process;
};

// It takes part in nothing any more, and is to end.
struct ReleaseProcess {
  static constexpr std::string_view kName = "release_process";
  ProcessName process;
};

// ProcessLost will follow.
struct KillProcess {
  static constexpr std::string_view kName = "kill_process";
  ProcessName process;
  std::string why;
};

struct HaltProcesses {
  static constexpr std::string_view kName = "halt_processes";
  std::vector<ProcessName> processes;
};

// The last good one.
struct FindCheckpoint {
  static constexpr std::string_view kName = "find_checkpoint";
};

struct ConfigureShards {
  static constexpr std::string_view kName = "configure_shards";
  StateSource source = StateSource::kInitial;
};

struct ConfigureWorkers {
  static constexpr std::string_view kName = "configure_workers";
  StateSource source = StateSource::kInitial;
  std::vector<std::uint32_t> newcomers;  // indices of workers that hold nothing yet
  // If workers hold the state: whose the others take, and whether any has to.
  std::uint32_t source_rank = 0;
  bool shares_state = false;
  std::string reason;  // of this membership
};

// Workers may go on until `until` iterations are done.
struct GrantIterations {
  static constexpr std::string_view kName = "grant_iterations";
  std::uint64_t until = 0;
};

struct EvaluateModel {
  static constexpr std::string_view kName = "evaluate_model";
  Split split = Split::kTest;
};

struct TakeCheckpoint {
  static constexpr std::string_view kName = "take_checkpoint";
  bool is_best = false;
  std::optional<double> score;  // higher is better
};

// The job goes on, after losses or with a process that has come.
struct TellRecovery {
  static constexpr std::string_view kName = "tell_recovery";
  std::vector<ProcessName> lost;      // none: nobody was
  std::uint64_t iteration = 0;        // from which it went on
  std::uint64_t iterations_lost = 0;  // done before, and lost with the state
  double seconds = 0.0;               // from the news to the next iteration that was done
};

struct EndProcesses {
  static constexpr std::string_view kName = "end_processes";
};

struct EndJob {
  static constexpr std::string_view kName = "end_job";
  Status status = Status::kFailed;
  std::string reason;
  bool bad_input = false;  // it failed for what the user gave, and before anything was trained
};

// For people and the log.
struct Announce {
  static constexpr std::string_view kName = "announce";
  std::string text;
};

using ControllerAction =
    std::variant<StartProcess, ReleaseProcess, KillProcess, HaltProcesses, FindCheckpoint,
                 ConfigureShards, ConfigureWorkers, GrantIterations, EvaluateModel, TakeCheckpoint,
                 TellRecovery, EndProcesses, EndJob, Announce>;
static_assert(have_different_names<ControllerAction>());

}  // namespace scavenger::elastic
