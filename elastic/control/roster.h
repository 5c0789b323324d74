// The processes of a job: who is there, who is on its way, and what they hold. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "elastic/control/job_events.h"

namespace scavenger::elastic {

// Who holds the weights and the optimizer state, and so what a loss costs.
enum class StateHome {
  kShards,   // each shard its part: with any of them some is lost
  kMemory,   // memory that outlives the shards' processes
  kWorkers,  // every worker all of it: lost with the last one
};

class Roster final {
 public:
  // A process that is lost this often in a row before it was ready is not started again.
  static constexpr std::uint32_t kEarlyLossLimit = 3;

  // All have just been asked for.
  Roster(std::uint32_t workers, std::uint32_t shards, double now_seconds);

  void start(const ProcessName& process, double now_seconds);
  void join(const ProcessName& process);
  // Its machine is there, and it has begun to run.
  void run(const ProcessName& process, double now_seconds);
  // It takes part: it did not die at its start.
  void settle(const ProcessName& process);
  // True where it should not be started again. A machine that is taken away is nobody's fault.
  bool lose(const ProcessName& process, bool with_machine);
  // No machine can be had for it now.
  void refuse(const ProcessName& process);
  // No machine can be had for it.
  void give_up(const ProcessName& process);
  // It is gone, and to be asked for again at that time, or later where that fails again and again.
  void defer(const ProcessName& process, double now_seconds, double delay_seconds);
  std::vector<ProcessName> deferred() const;
  std::vector<ProcessName> deferred_until(double now_seconds) const;
  // How often in a row it was lost with its machine before it took part.
  std::uint32_t failures(const ProcessName& process) const;
  // It is no part of the job any more, and may still run until forget().
  void release(const ProcessName& process);
  // It is to be let go at the next boundary, and another to take its place.
  void leave(const ProcessName& process) { processes_.at(process).leaving = true; }
  void forget(const ProcessName& process);

  bool knows(const ProcessName& process) const { return processes_.contains(process); }
  // It is there, on its way, or about to be asked for again.
  bool expects(const ProcessName& process) const;
  bool has_joined(const ProcessName& process) const;
  std::vector<ProcessName> starting() const;
  std::vector<ProcessName> gone() const;              // and not given up
  std::vector<ProcessName> joined() const;            // workers, then shards
  std::vector<std::uint32_t> joined_workers() const;  // by index
  bool is_leaving(const ProcessName& process) const;
  // There was no machine for it since it was asked for last.
  bool is_refused(const ProcessName& process) const { return processes_.at(process).refused; }
  // Those that are there and do not leave.
  std::vector<std::uint32_t> staying_workers() const;
  // Those that are there and do not leave, on their way, or about to be started again.
  std::vector<std::uint32_t> active_workers() const;
  // The least index that no worker has.
  std::uint32_t free_worker_index() const;
  bool all_shards_joined() const;
  // Those that have run for more than `seconds`, and have not joined.
  std::vector<ProcessName> late(double seconds, double now_seconds) const;

  // ---- Halting: each is asked once, and answers once. ----
  void ask_to_halt(const ProcessName& process);
  // False where it was not asked.
  bool halted(const ProcessHalted& answer);
  std::vector<ProcessName> halting() const;
  bool is_any_halting() const { return halting_ > 0; }

  // ---- What those that have halted hold. ----
  // The iteration that can be gone on from; nothing where the state is not complete any more.
  std::optional<std::uint64_t> kept_iteration(StateHome home) const;
  bool has_weights(const ProcessName& process) const { return processes_.at(process).has_weights; }
  std::uint64_t iteration_of(const ProcessName& process) const {
    return processes_.at(process).iteration;
  }

 private:
  enum class Life { kStarting, kJoined, kGone, kGivenUp, kReleased };
  struct Process {
    Life life = Life::kStarting;
    double start_seconds = 0.0;
    bool settled = false;
    bool is_running = false;
    std::uint32_t early_losses = 0;       // in a row, by its own fault
    std::uint32_t failures = 0;           // in a row, with its machine or for want of one
    std::optional<double> again_seconds;  // when it is to be asked for again
    bool refused = false;
    bool leaving = false;
    bool halting = false;
    bool has_weights = false;
    std::uint64_t iteration = 0;
  };

  template <typename Predicate>
  std::vector<ProcessName> those(Predicate is) const;

  void set_halting(Process& process, bool halting);

  std::map<ProcessName, Process> processes_;
  std::uint32_t halting_ = 0;  // how many of them: K answers to a halt need not count K processes
};

}  // namespace scavenger::elastic
