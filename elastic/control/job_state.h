// The states of a job, and the one table of the transitions between them. The controller says what
// has happened (a Cause); where that leads is in the table alone. Pure.
//
// docs/design/architecture.md shows both tables, and a test compares them with these.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/vocabulary/word.h"

namespace scavenger::elastic {

enum class JobState {
  kGathering,
  kHalting,
  kRestoring,
  kLoading,
  kConnecting,
  kTraining,
  kEvaluating,
  kSnapshotting,
  kDraining,
  kEnding,
  kEnded
};

struct StateEntry {
  JobState word;
  std::string_view name;
  std::string_view waits_for;
};
// All states, in the order of the enumeration.
std::span<const StateEntry> job_states();
inline std::span<const StateEntry> table_of(JobState) {
  return job_states();
}

// Why a job leaves a state.
enum class Cause {
  kAllHalted,
  kKeeperAsked,
  kCheckpointNeeded,
  kCheckpointFound,
  kShardsConfigured,
  kWorkersConfigured,
  kAllReady,
  kEvaluationDue,
  kCheckpointDue,
  kDiskBusy,
  kNothingDue,
  kEndDue,
  kReshapeDue,
  kProcessLost,
  kTooLate,
  kStatePartLost,
  kWeightsWritten,
  kStopAtOnce,
  kFailure,
  kProcessesEnded
};

// A set of states.
class States final {
 public:
  constexpr States(std::initializer_list<JobState> states) {
    for (const JobState state : states) bits_ |= bit(state);
  }
  constexpr bool contains(JobState state) const { return (bits_ & bit(state)) != 0; }
  constexpr bool meets(States other) const { return (bits_ & other.bits_) != 0; }

 private:
  static constexpr std::uint32_t bit(JobState state) {
    return std::uint32_t{1} << static_cast<unsigned>(state);
  }
  std::uint32_t bits_ = 0;
};

// One row: in any state of `from`, `cause` leads to `to`.
struct Transition {
  States from;
  Cause cause;
  std::string_view cause_name;
  std::string_view condition;  // when the controller names this cause
  JobState to;
  std::string_view why;
};
// All transitions there are. No two rows have both a state and the cause in common.
std::span<const Transition> job_transitions();

// Where a job is. Its state changes by follow() only.
class StateMachine final {
 public:
  JobState state() const { return state_; }
  // Requires a row of the table for the present state and this cause; without one the program
  // aborts, in every build.
  void follow(Cause cause);
  // The rows that were taken since forget_taken(), in order.
  const std::vector<const Transition*>& taken() const { return taken_; }
  void forget_taken() { taken_.clear(); }

 private:
  JobState state_ = JobState::kGathering;
  std::vector<const Transition*> taken_;
};

}  // namespace scavenger::elastic
