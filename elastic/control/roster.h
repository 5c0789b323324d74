// The processes of a job: which are there, which are on their way, and what they hold. Pure.
#pragma once

#include <cstddef>
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

// It has more than 25 methods, each of which is one question or one change of a process.
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
  // True if it should not be started again. A machine that is taken away is nobody's fault.
  bool lose(const ProcessName& process, bool with_machine);
  // No machine can be had for it now.
  void refuse(const ProcessName& process);
  // No machine can be had for it.
  void give_up(const ProcessName& process);
  // It is gone, and to be asked for again at that time, or later if that fails again and again.
  void defer(const ProcessName& process, double now_seconds, double delay_seconds);
  bool is_deferred(const ProcessName& process) const;
  std::vector<ProcessName> deferred_until(double now_seconds) const;
  // How often in a row it was lost with its machine before it took part.
  std::uint32_t failures(const ProcessName& process) const;
  // It takes no part for now, and what it holds grows old.
  void wait(const ProcessName& process);
  bool is_waiting(const ProcessName& process) const { return processes_.at(process).waits; }
  // It is no part of the job any more, and may still run until forget().
  void release(const ProcessName& process);
  // It is to be let go at the next boundary, and another to take its place.
  void leave(const ProcessName& process);
  void forget(const ProcessName& process);

  bool knows(const ProcessName& process) const { return processes_.contains(process); }
  // It is there, on its way, or about to be asked for again.
  bool expects(const ProcessName& process) const;
  bool has_joined(const ProcessName& process) const;
  // How many there are, counted as they come and go: K processes that join ask K times.
  std::size_t starting_count() const { return counts_.starting; }
  std::size_t deferred_count() const { return counts_.deferred; }
  std::size_t joined_worker_count() const { return counts_.joined_workers; }
  std::size_t staying_worker_count() const { return counts_.staying_workers; }
  bool is_starting(const ProcessName& process) const;
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
  // Whether one that has not joined runs, or was asked for less than `seconds` ago.
  bool is_any_coming(double seconds, double now_seconds) const;
  // The least index from `from` on that no worker has.
  std::uint32_t free_worker_index(std::uint32_t from) const;
  bool all_shards_joined() const { return counts_.absent_shards == 0; }
  // Those that have run for more than `seconds`, and have not joined.
  std::vector<ProcessName> late(double seconds, double now_seconds) const;

  // ---- Halting: each is asked once, and answers once. ----
  void ask_to_halt(const ProcessName& process);
  // False if it was not asked.
  bool halted(const ProcessHalted& answer);
  std::vector<ProcessName> halting() const;
  bool is_any_halting() const { return counts_.halting > 0; }

  // ---- What those that have halted hold. ----
  // Returns the iteration from which the job can go on; nothing if a part of the state is lost.
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
    bool waits = false;
    bool has_weights = false;  // and the job can go on from them
    std::uint64_t iteration = 0;
  };

  // How many of the processes are what, so that K answers need not count K processes each.
  struct Counts {
    std::size_t starting = 0;
    std::size_t deferred = 0;
    std::size_t joined_workers = 0;
    std::size_t staying_workers = 0;  // joined, and not leaving
    std::size_t absent_shards = 0;
    std::size_t halting = 0;
  };

  template <typename Predicate>
  std::vector<ProcessName> those(Predicate is) const;
  // The only way to change a process of the roster.
  template <typename Change>
  void change(const ProcessName& name, Change change);
  void count(const ProcessName& name, const Process& process, bool is_added);

  std::map<ProcessName, Process> processes_;
  Counts counts_;
};

}  // namespace scavenger::elastic
