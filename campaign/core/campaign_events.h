// What a campaign is told and what it answers (campaign.h). Plain data; the names stand in
// campaign.jsonl.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "campaign/space/space.h"
#include "runtime/provider/machine.h"

namespace scavenger::campaign {

// One stay of a simulation on a machine. Never used twice, so that news of an earlier stay cannot
// be taken for news of a later one.
using TaskId = std::uint64_t;

namespace event {

// A process works on the campaign, the first or a later one: all machines and tasks of an earlier
// one are gone.
struct Started {
  static constexpr std::string_view kName = "started";
  // The limits from now on; 0: none.
  std::uint64_t max_simulations = 0;
  double max_cost = 0.0;
  std::string identity = {};        // of what is simulated, see campaign/run/campaign_folder.h
  std::uint32_t most_machines = 0;  // at once, from now on; 0: machines.count
  bool tries_failed_again = false;  // simulations that count as failed
};
struct MachineReady {
  static constexpr std::string_view kName = "machine_ready";
  MachineId machine = 0;
  std::string name;
  std::string type;
  std::string zone;
  bool spot = false;
  std::uint32_t cores = 1;
  double price_per_hour = 0.0;            // dollars
  double on_demand_price_per_hour = 0.0;  // dollars
  double minimum_seconds = 0.0;
  double returning_seconds = 0.0;
  double charged_seconds = 0.0;
};
// The provider has none in one zone just now, and tries on.
struct MachineDelayed {
  static constexpr std::string_view kName = "machine_delayed";
  MachineId machine = 0;
  std::string reason;
};
struct MachineRefused {
  static constexpr std::string_view kName = "machine_refused";
  MachineId machine = 0;
  std::string reason;
  double retry_seconds = 0.0;  // below 0: only after the user has acted
};
struct MachineNotice {
  static constexpr std::string_view kName = "machine_notice";
  MachineId machine = 0;
  double seconds = 0.0;
};
struct MachineLost {
  static constexpr std::string_view kName = "machine_lost";
  MachineId machine = 0;
  std::string how;
  bool was_taken = true;
};
struct MachineReleased {
  static constexpr std::string_view kName = "machine_released";
  MachineId machine = 0;
};
// scavenger-task has connected.
struct HostJoined {
  static constexpr std::string_view kName = "host_joined";
  MachineId machine = 0;
};
// It is gone, or does not answer, though nobody took the machine.
struct HostLost {
  static constexpr std::string_view kName = "host_lost";
  MachineId machine = 0;
  std::string how;
};
// The command of a segment was started.
struct SegmentBegan {
  static constexpr std::string_view kName = "segment_began";
  TaskId task = 0;
};
// It has ended well; what it leaves is being brought here.
struct SegmentEnded {
  static constexpr std::string_view kName = "segment_ended";
  TaskId task = 0;
};
// Checkpoint and results are on this machine's disk. `until`: the step that was reached, below the
// one that was asked for if the segment was stopped.
struct SegmentKept {
  static constexpr std::string_view kName = "segment_kept";
  TaskId task = 0;
  std::uint64_t until = 0;
};
// The same for a simulation that takes checkpoints by itself and goes on.
struct CheckpointKept {
  static constexpr std::string_view kName = "checkpoint_kept";
  TaskId task = 0;
};
// The newest checkpoints of a simulation that is to go on cannot be read: only the first `kept`
// segments count.
struct CheckpointDamaged {
  static constexpr std::string_view kName = "checkpoint_damaged";
  TaskId task = 0;
  std::uint64_t kept = 0;
};
// The command ended badly. `how`: "failed", "diverged" (it said so itself), or "stopped" (it was
// asked to stop and left no checkpoint).
struct TaskFailed {
  static constexpr std::string_view kName = "task_failed";
  TaskId task = 0;
  std::string how;
  std::string reason;
  std::string log_tail;
};
// A whole simulation's result was merged and checked. `fault`: why it is not valid; empty: it is.
struct Judged {
  static constexpr std::string_view kName = "judged";
  PointIndex point = 0;
  std::string fault;
  std::string log_tail;
};
// A surrogate was trained from so many results beside the holdout. Errors are those on the holdout;
// without two profiles of it they are not known, and 0.
struct Advised {
  static constexpr std::string_view kName = "advised";
  std::uint64_t results = 0;
  std::uint64_t left_out = 0;  // of these, whose profiles cannot be learned from
  std::uint64_t profiles = 0;  // of the holdout
  double rmse = 0.0;
  double most_rmse = 0.0;          // with 95 % confidence it is at most this
  double within = 0.0;             // share of values within their simulated error bars
  double least_within = 0.0;       // with 95 % confidence it is at least this
  double covered = 0.0;            // share of values within two predicted sigma
  double seconds = 0.0;            // that the training took
  double predict_seconds = 0.0;    // that one prediction takes
  std::vector<PointIndex> points;  // what to simulate next, in this order
  // Before those, what to simulate for twice as long, since its statistical error dominates.
  std::vector<PointIndex> lengthen;
};
// A training from so many results failed.
struct TrainingFailed {
  static constexpr std::string_view kName = "training_failed";
  std::uint64_t results = 0;
  std::string reason;
  double seconds = 0.0;
};
// Somebody wants it to end, in order or at once; or, `is_failure`, it cannot go on.
struct StopAsked {
  static constexpr std::string_view kName = "stop_asked";
  std::string reason;
  bool at_once = false;
  bool is_failure = false;
};
struct Tick {
  static constexpr std::string_view kName = "tick";
};

}  // namespace event

using CampaignEvent =
    std::variant<event::Started, event::MachineReady, event::MachineDelayed, event::MachineRefused,
                 event::MachineNotice, event::MachineLost, event::MachineReleased,
                 event::HostJoined, event::HostLost, event::SegmentBegan, event::SegmentEnded,
                 event::SegmentKept, event::CheckpointKept, event::CheckpointDamaged,
                 event::TaskFailed, event::Judged, event::Advised, event::TrainingFailed,
                 event::StopAsked, event::Tick>;

namespace action {

struct RequestMachine {
  static constexpr std::string_view kName = "request_machine";
  MachineId machine = 0;
  std::string type;  // empty: whichever the provider has
};
// Start scavenger-task there.
struct StartHost {
  static constexpr std::string_view kName = "start_host";
  MachineId machine = 0;
};
struct ReleaseMachine {
  static constexpr std::string_view kName = "release_machine";
  MachineId machine = 0;
};
// Bring a simulation to a machine and run its first segment there. `kept`: how many segments of it
// were kept before; it goes on from the checkpoint of the last of them.
struct StartTask {
  static constexpr std::string_view kName = "start_task";
  TaskId task = 0;
  MachineId machine = 0;
  PointIndex point = 0;
  std::uint64_t kept = 0;
  std::uint64_t from = 0;
  std::uint64_t until = 0;
};
struct RunSegment {
  static constexpr std::string_view kName = "run_segment";
  TaskId task = 0;
  std::uint64_t from = 0;
  std::uint64_t until = 0;
};
// Ask the segment to stop early and to leave a checkpoint.
struct StopTask {
  static constexpr std::string_view kName = "stop_task";
  TaskId task = 0;
};
// Kill what runs, and forget the task: no news of it is wanted.
struct EndTask {
  static constexpr std::string_view kName = "end_task";
  TaskId task = 0;
};
// Merge and check the result of a simulation.
struct Judge {
  static constexpr std::string_view kName = "judge";
  PointIndex point = 0;
};
// Nothing is left to do and no machine is left. `status`: "finished", "stopped", "max_cost",
// "failed".
struct Finish {
  static constexpr std::string_view kName = "finish";
  std::string status;
  std::string reason;
};

}  // namespace action

using CampaignAction =
    std::variant<action::RequestMachine, action::StartHost, action::ReleaseMachine,
                 action::StartTask, action::RunSegment, action::StopTask, action::EndTask,
                 action::Judge, action::Finish>;

using CampaignActions = std::vector<CampaignAction>;

}  // namespace scavenger::campaign
