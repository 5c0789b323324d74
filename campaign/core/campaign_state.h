// What a campaign knows: its simulations, its machines, and the tasks that bring both together.
// Plain data.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/core/campaign_events.h"
#include "campaign/core/ledger.h"
#include "runtime/vocabulary/word.h"

namespace scavenger::campaign {

enum class SimulationState { kWaiting, kRunning, kJudging, kDone, kDiverged, kFailed };
inline constexpr std::array<Named<SimulationState>, 6> kSimulationStates{{
    {SimulationState::kWaiting, "waiting"},    // for a slot
    {SimulationState::kRunning, "running"},    // has a task
    {SimulationState::kJudging, "judging"},    // computed; the result is being checked
    {SimulationState::kDone, "done"},          // has a valid result
    {SimulationState::kDiverged, "diverged"},  // cannot be simulated, or has no valid result
    {SimulationState::kFailed, "failed"},      // its command failed too often
}};
static_assert(is_complete(kSimulationStates, SimulationState::kFailed));
constexpr const auto& table_of(SimulationState) {
  return kSimulationStates;
}

// A segment whose checkpoint and results are on the controller's disk. One from and until the same
// step is a checkpoint that the simulation took by itself.
struct KeptSegment {
  std::uint64_t from = 0;
  std::uint64_t until = 0;
  Amount cost;
};

struct SimulationRecord {
  SimulationState state = SimulationState::kWaiting;
  bool is_holdout = false;
  std::uint32_t multiple = 1;       // of the configured steps that it is to have
  std::uint32_t kept_multiple = 0;  // that its valid result has; 0: there is none yet
  std::uint32_t results = 0;        // valid ones: it is lengthened after the first
  bool may_be_lengthened = true;
  std::vector<KeptSegment> segments;
  double steps_per_second = 0.0;  // of its last segment; 0: unknown
  std::uint32_t failures = 0;
  std::uint32_t lost_trials = 0;  // machines that were lost before its speed was known
  std::uint32_t wall_losses = 0;  // in a row, during its shortest segment; since it last progressed
  std::uint32_t broken_hosts = 0;  // in a row, each while it ran there; since it last progressed
  std::optional<MachineId> failed_on;  // its last failure was there
  std::string reason;                  // of the last failure, or why it diverged
  std::string log_tail;

  bool has_result() const { return kept_multiple > 0; }
  // For people: one that is being lengthened is done, whatever becomes of that.
  SimulationState shown_state() const { return has_result() ? SimulationState::kDone : state; }
  std::uint64_t steps() const { return segments.empty() ? 0 : segments.back().until; }
  bool is_over() const { return state >= SimulationState::kDone; }
  Amount cost() const {
    Amount sum;
    for (const KeptSegment& segment : segments) sum.add(segment.cost);
    return sum;
  }
};

enum class MachineState {
  kRequested,
  kStarting,  // it is there, scavenger-task is not yet
  kReady,
  kLeaving,  // released
};

struct MachineRecord {
  MachineState state = MachineState::kRequested;
  std::string asked_type;      // empty: any
  std::uint32_t delays = 0;    // of the request
  event::MachineReady facts;   // once it is ready
  double ready_seconds = 0.0;  // since when it is charged
  double state_seconds = 0.0;  // since when it is in this state
  bool has_notice = false;     // takes no more tasks
  // If it is leaving: until then it may turn out that the provider took it, and it is not returned.
  std::optional<double> verdict_seconds;
  bool is_retiring = false;                  // takes no more tasks; what runs goes on
  std::vector<std::optional<TaskId>> slots;  // the task of each

  bool is_busy() const {
    return std::ranges::any_of(slots, [](const auto& slot) { return slot.has_value(); });
  }
};

enum class TaskPhase { kSending, kRunning, kKeeping };

struct TaskRecord {
  PointIndex point = 0;
  MachineId machine = 0;
  std::uint32_t slot = 0;
  TaskPhase phase = TaskPhase::kSending;
  std::uint64_t from = 0;
  std::uint64_t until = 0;
  double phase_seconds = 0.0;  // since when it is in this phase
  double run_seconds = 0.0;    // of the segment that has ended
  bool was_stopped = false;
  double kill_seconds = 0.0;  // if was_stopped: when it is killed
};

}  // namespace scavenger::campaign
