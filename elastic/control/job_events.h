// What can happen to a job, and what can be done about it: the controller's two languages.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "elastic/control/share_rule.h"
#include "runtime/config/job_config.h"
#include "runtime/protocol/control_message.h"

namespace scavenger::elastic {

enum class Status {
  kTargetReached,
  kMaxEpochs,
  kMaxIterations,
  kMaxTime,
  kMaxCost,
  kInterrupted,
  kFailed,
  kEarlyStopping  // last: decision logs hold the numbers
};
std::string name_of(Status status);  // as in report.json: "target_reached", ...

struct ProcessName {
  Role role = Role::kWorker;
  std::uint32_t index = 0;
  auto operator<=>(const ProcessName&) const = default;
  std::string text() const;  // "worker 1"
};
std::string names_of(const std::vector<ProcessName>& processes);  // "worker 0 and shard 1"

// ---- What can happen. ----
struct ProcessStarted {  // its machine is there: from now on it has limits.start_seconds to join
  ProcessName process;
};
struct MachineRefused {  // it was not started, since no machine could be had for it
  ProcessName process;
  std::string why;
  std::optional<double> retry_after_seconds;  // none: never
};
struct ProcessJoined {
  ProcessName process;
};
struct ProcessReady {
  ProcessName process;
  std::uint32_t membership_epoch = 0;
};
struct ProcessHalted {  // the fields of its Halted message
  ProcessName process;
  std::uint64_t iteration = 0;
  bool has_weights = false;
};
struct ProcessStuck {  // it has lost a connection to another, and waits to be halted
  ProcessName process;
  std::string reason;
};
struct IterationsDone {  // a worker has finished its part of all iterations below `count`
  std::uint32_t rank = 0;
  std::uint64_t count = 0;
};
struct EvaluationDone {
  double value = 0.0;                    // of judged_metric()
  std::optional<double> stopping_value;  // of early stopping's metric, where there is that
};
struct CheckpointSafe {};  // the state is copied: training may go on
struct CheckpointDone {    // written, or not: the coordinator has reported which
  bool written = false;
  bool by_loss = false;  // not written because of a process that was lost
};
struct CheckpointFound {  // the answer to FindCheckpoint; no iteration: there is none
  std::optional<std::uint64_t> iteration;
  std::uint64_t position = 0;
};
struct ProcessLost {  // it is gone, without having been asked to end
  ProcessName process;
  std::string how;
  bool by_itself = false;     // it found an error that its replacement would find again
  bool with_machine = false;  // its machine was taken away: it is no fault of its own
  bool bad_input = false;     // the error is in what the user gave
};
struct JobImpossible {  // found while coming together: the checkpoint is of another model, and the
                        // like
  std::string reason;
  bool bad_input = false;
};
struct ProcessLeft {  // it was released, and has ended
  ProcessName process;
};
struct ProcessLeaving {  // a worker whose machine is about to be taken away
  ProcessName process;
  std::string reason;
};
struct ReshapeWanted {  // requires 0 < workers <= batch_size
  std::uint32_t workers = 0;
  std::uint32_t batch_size = 0;
  std::string reason;
  double rate_factor = 1.0;  // what the learning rate is multiplied with at that batch size
};
struct RateFactorWanted {  // where B stays as it is; it says nothing where another B is wanted
  std::uint32_t batch_size = 0;
  double factor = 1.0;
  std::string reason;
};
struct SharesWanted {  // in this membership, from the next boundary on, and in those to come
  ShareRule rule;
  std::string reason;
};
struct CheckpointWanted {};
struct PauseWanted {  // at the next boundary, with a checkpoint; or its end
  bool pauses = true;
};
struct Interrupted {  // Ctrl-C, or whoever else may end the job
  std::string by = "the user";
};
struct CostMetered {     // at least once a second, where something costs anything
  double dollars = 0.0;  // of the job's whole life, until now
  double dollars_per_hour = 0.0;
  double dollars_to_return = 0.0;  // that machines may cost from their release to their end
};
struct AllProcessesEnded {};
struct TimePassed {};  // at least once a second

using ControllerEvent =
    std::variant<ProcessStarted, MachineRefused, ProcessJoined, ProcessReady, ProcessHalted,
                 ProcessStuck, IterationsDone, EvaluationDone, CheckpointSafe, CheckpointDone,
                 CheckpointFound, ProcessLost, JobImpossible, ProcessLeft, ProcessLeaving,
                 ReshapeWanted, RateFactorWanted, SharesWanted, CheckpointWanted, PauseWanted,
                 Interrupted, CostMetered, AllProcessesEnded, TimePassed>;

// ---- What to do about it. ----
// Where a membership's weights and optimizer state come from: those who hold it, the checkpoint
// that was found, or the beginning.
enum class StateSource { kPresent, kCheckpoint, kInitial };

struct StartProcess {  // in place of one that is gone, or one more; a worker needs a machine
  ProcessName process;
};
struct ReleaseProcess {  // it takes part in nothing any more, and is to end
  ProcessName process;
};
struct KillProcess {  // its loss is news to come
  ProcessName process;
  std::string why;
};
struct HaltProcesses {
  std::vector<ProcessName> processes;
};
struct FindCheckpoint {};  // the last good one
struct ConfigureShards {
  StateSource source = StateSource::kInitial;
};
struct ConfigureWorkers {
  StateSource source = StateSource::kInitial;
  std::vector<std::uint32_t> newcomers;  // indices of workers that hold nothing yet
  // Where workers hold the state: whose the others take, and whether any has to.
  std::uint32_t source_rank = 0;
  bool shares_state = false;
  std::string reason;  // of this membership
};
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
struct TellRecovery {             // the job goes on, after losses or with a process that has come
  std::vector<ProcessName> lost;  // none: nobody was
  std::uint64_t iteration = 0;    // from which it went on
  std::uint64_t iterations_lost = 0;  // done before, and lost with the state
  double seconds = 0.0;               // from the news to the next iteration that was done
};
struct EndProcesses {};
struct EndJob {
  Status status = Status::kFailed;
  std::string reason;
  bool bad_input = false;  // it failed for what the user gave, and before anything was trained
};
struct Announce {  // for people and the log
  std::string text;
};

using ControllerAction =
    std::variant<StartProcess, ReleaseProcess, KillProcess, HaltProcesses, FindCheckpoint,
                 ConfigureShards, ConfigureWorkers, GrantIterations, EvaluateModel, TakeCheckpoint,
                 TellRecovery, EndProcesses, EndJob, Announce>;

}  // namespace scavenger::elastic
