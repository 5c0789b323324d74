#include "elastic/control/job_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "runtime/base/check.h"

namespace scavenger::elastic {
namespace {

using enum JobState;

constexpr std::array kStates = std::to_array<StateEntry>({
    {kGathering, "gathering",
     "the processes that it needs: at the start all, or those that have machines ten seconds after "
     "the first worker joined; later all shards and one worker; if a shard was lost, also the "
     "checkpoint that is being written"},
    {kHalting, "halting", "every process to say where it stands"},
    {kRestoring, "restoring", "the place of the last good checkpoint"},
    {kLoading, "loading", "every shard to have its state (the first worker sends initial weights)"},
    {kConnecting, "connecting", "every worker to hold the weights"},
    {kTraining, "training", "all workers to reach a boundary"},
    {kEvaluating, "evaluating", "every worker's part of the split"},
    {kSnapshotting, "snapshotting",
     "every shard to have marked its state for copying; before that, if a best model must be "
     "kept, the disk"},
    {kDraining, "draining", "the last checkpoint to be on disk, or three more tries"},
    {kEnding, "ending", "every process to be gone"},
    {kEnded, "ended", "nothing"},
});

static_assert(is_complete(kStates, kEnded));

// From the configuration of the shards to the last checkpoint: states that a loss interrupts.
constexpr States kWithMembership{kLoading,    kConnecting,   kTraining,
                                 kEvaluating, kSnapshotting, kDraining};
// No iteration is running, and what comes next is to be decided.
constexpr States kAtBoundary{kTraining, kEvaluating, kSnapshotting};
constexpr States kBeforeTheEnd{kGathering, kHalting,    kRestoring,    kLoading, kConnecting,
                               kTraining,  kEvaluating, kSnapshotting, kDraining};

constexpr std::array kTransitions = std::to_array<Transition>({
    {{kHalting},
     Cause::kAllHalted,
     "all halted",
     "all processes that were asked have answered, or are gone",
     kGathering,
     "what they hold decides from where the job goes on"},
    {{kGathering},
     Cause::kKeeperAsked,
     "keeper asked",
     "the workers share memory, and its keeper was not asked since they halted",
     kHalting,
     "workers write to that memory until they have halted"},
    {{kGathering},
     Cause::kCheckpointNeeded,
     "checkpoint needed",
     "a part of the state is lost, and no checkpoint is being written",
     kRestoring,
     "the last good checkpoint is the newest complete state"},
    {{kRestoring},
     Cause::kCheckpointFound,
     "checkpoint found",
     "the answer has come, also if there is no checkpoint",
     kGathering,
     "more may have been lost meanwhile"},
    {{kGathering},
     Cause::kShardsConfigured,
     "shards configured",
     "there are all shards and a worker, and it is known where the state comes from",
     kLoading,
     "shards have the state first"},
    {{kGathering, kLoading},
     Cause::kWorkersConfigured,
     "workers configured",
     "every shard is ready, or there are none",
     kConnecting,
     "workers get the weights from those who hold the state"},
    {{kConnecting},
     Cause::kAllReady,
     "all ready",
     "every shard and every worker of the membership is ready",
     kTraining,
     "iterations may be granted"},
    {{kTraining},
     Cause::kEvaluationDue,
     "evaluation due",
     "at a boundary, at an evaluation's iteration or at the end, unless somebody waits for the end",
     kEvaluating,
     "its result decides whether this is the end, and whether this model is the best"},
    {{kTraining, kEvaluating, kSnapshotting, kDraining},
     Cause::kCheckpointDue,
     "checkpoint due",
     "at a boundary, a checkpoint is due and the disk is free; or the last one has to be taken",
     kSnapshotting,
     "the state is copied before it changes"},
    {{kTraining, kEvaluating},
     Cause::kDiskBusy,
     "disk busy",
     "the best model so far must be kept, and another checkpoint is being written",
     kSnapshotting,
     "this model would be overwritten by the next iteration"},
    {{kEvaluating, kSnapshotting},
     Cause::kNothingDue,
     "nothing due",
     "the evaluation or the copying is over, and neither an end nor a reshape is due",
     kTraining,
     "the boundary is passed"},
    {kAtBoundary, Cause::kEndDue, "end due",
     "the job is to end; its last checkpoint is written, or waits for the disk", kDraining,
     "nothing is computed any more"},
    {kAtBoundary, Cause::kReshapeDue, "reshape due",
     "at a boundary, other workers, another batch size, other shares or another rate are wanted",
     kHalting, "a new membership is made as after a loss"},
    {kWithMembership, Cause::kProcessLost, "process lost",
     "a shard, or a worker of the membership; in draining only if the last checkpoint was not "
     "taken",
     kHalting, "those that are left make a new membership"},
    {kWithMembership, Cause::kTooLate, "too late",
     "an iteration, a boundary or a membership passed its limit, or a worker lost a connection, "
     "fewer than three times in a row",
     kHalting, "who does not answer a halt is the one that hangs"},
    {{kDraining},
     Cause::kStatePartLost,
     "part lost",
     "the last checkpoint was not written, and a process is gone that may have held a part of it",
     kHalting,
     "the state has to be complete again before it can be written"},
    {{kDraining},
     Cause::kWeightsWritten,
     "weights written",
     "the last checkpoint is on disk",
     kEnding,
     "nothing is left to do"},
    {kBeforeTheEnd, Cause::kStopAtOnce, "stop at once",
     "nothing was trained yet when the end was asked for, `stop.max_cost` leaves no time, or "
     "workers do not come together again for it",
     kEnding, "there is nothing to save, or no money or worker for it"},
    {kBeforeTheEnd, Cause::kFailure, "failure",
     "an error that would come again, too many losses or delays, nobody left, or a standstill",
     kEnding, "the job cannot go on"},
    {{kEnding},
     Cause::kProcessesEnded,
     "processes ended",
     "all processes are gone",
     kEnded,
     "the job's end is told"},
});

constexpr bool is_unambiguous(std::span<const Transition> table) {
  for (std::size_t i = 0; i < table.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (table[i].cause == table[j].cause && table[i].from.meets(table[j].from)) return false;
  return true;
}
static_assert(is_unambiguous(kTransitions));

}  // namespace

std::span<const StateEntry> job_states() {
  return kStates;
}

std::span<const Transition> job_transitions() {
  return kTransitions;
}

void StateMachine::follow(Cause cause) {
  const auto leads_on = [&](const Transition& row) {
    return row.cause == cause && row.from.contains(state_);
  };
  const auto found = std::ranges::find_if(kTransitions, leads_on);
  if (found == kTransitions.end())
    check_failed(fmt::format("the job's table of transitions has cause {} in state {}",
                             static_cast<int>(cause), name_of(state_))
                     .c_str(),
                 __FILE__, __LINE__);
  state_ = found->to;
  taken_.push_back(&*found);
}

}  // namespace scavenger::elastic
