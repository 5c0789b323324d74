// Adds a run's events up, one by one: the same code for a live run and for a log that is read.
#pragma once

#include <cstdint>

#include "elastic/events/event.h"
#include "elastic/history/run_numbers.h"

namespace scavenger::elastic {

// Pure: no clock, no I/O. Memory does not grow with the number of iterations, only (by a few KB)
// with each membership. One thread. It has more than 25 methods: an apply_fact() for each event.
class RunSummary final {
 public:
  // Events in the order of the log. Throws InputError if they contradict each other: no start
  // at first, iterations of a membership that was not announced.
  void apply(const LoggedEvent& logged);
  const RunNumbers& numbers() const { return numbers_; }

 private:
  void advance_to(double time);

  void apply_fact(double time, const fact::Start& start);
  void apply_fact(double time, const fact::Membership& membership);
  void apply_fact(double time, const fact::Iterations& iterations);
  void apply_fact(double time, const fact::IterationBlock& block);
  void apply_fact(double time, const fact::Model& model);
  void apply_fact(double time, const fact::NoiseStable& stable);
  void apply_fact(double time, const fact::RateDecision& decision);
  void apply_fact(double time, const fact::SampleMemory& memory);
  void apply_fact(double time, const fact::DeviceUse& memory);
  void apply_fact(double, const fact::ScriptValues&) {}  // no report shows it
  void apply_fact(double, const fact::UserError&) {}     // the end's reason says what it was
  void apply_fact(double time, const fact::Evaluation& evaluation);
  void apply_fact(double time, const fact::Checkpoint& checkpoint);
  void apply_fact(double time, const fact::Pause& pause);
  void apply_fact(double time, const fact::TargetReached& reached);
  void apply_fact(double time, const fact::Machine& machine);
  void apply_fact(double time, const fact::SearchStep& step);
  void apply_fact(double time, const fact::VmStep& step);
  void apply_fact(double time, const fact::Prediction& prediction);
  void apply_fact(double time, const fact::Warning& warning);
  void apply_fact(double time, const fact::End& end);
  void apply_fact(double time, const fact::ProcessLost& lost);
  void apply_fact(double time, const fact::Recovery& recovery);
  void apply_fact(double time, const fact::CheckpointFailed& failed);
  void apply_fact(double time, const fact::CheckpointDamaged& damaged);
  void apply_fact(double, const fact::ProcessStarted&) {}
  void apply_fact(double, const fact::ProcessJoined&) {}

  void leave_phase();
  void go_back_to(std::uint64_t iteration);
  // `ranks`: one more than the highest that has measured something.
  PhaseNumbers& phase_of(std::uint32_t membership_epoch, std::uint64_t first, std::uint32_t ranks);
  void count(PhaseNumbers& phase, std::uint64_t first, std::uint64_t count);
  void add_to_curve(double time, const PhaseNumbers& phase, const fact::Iterations& iterations);

  RunNumbers numbers_;
  std::size_t first_phase_ = 0;  // of this process's phases
  bool in_phase_ = false;        // the last phase goes on
};

}  // namespace scavenger::elastic
