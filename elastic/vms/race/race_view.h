// One look at a running job, as the search for its machine type sees it: the last step, who trains
// on what, and what is left. Pure: of the events so far alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elastic/history/run_numbers.h"
#include "elastic/vms/race/vm_race_setting.h"

namespace scavenger::elastic {

// Returns the last step of the search; null before the first one.
const fact::VmStep* last_step_of(const RunNumbers& numbers);
// Returns what the job had before the audition, the move or the replacement that goes on. Requires
// a step.
const fact::VmStep& incumbent_of(const RunNumbers& numbers);

// Requires a step and a membership; both arguments must outlive it.
class RaceView final {
 public:
  RaceView(const VmRaceSetting& setting, const RunNumbers& numbers);

  const VmRaceSetting& setting() const { return setting_; }
  const RunNumbers& numbers() const { return numbers_; }
  const fact::VmStep& last() const { return last_; }
  double last_time() const { return last_time_; }  // of the last step
  const fact::VmStep& incumbent() const { return incumbent_; }
  const fact::Membership& membership() const { return membership_; }
  const std::map<std::uint32_t, std::string>& types() const { return types_; }  // by worker

  // Null if the provider has none of that name to choose from.
  const VmType* type_of(const std::string& name) const;

  // A step that changes nothing but these.
  fact::VmStep step(fact::VmPhase phase, std::string type, std::uint32_t workers,
                    std::string reason) const;
  // The end of an audition, a move or a replacement: those that are not of this type leave, and, if
  // the job is to have machines on demand, those on spot machines.
  fact::VmStep settle(const std::string& type, std::uint32_t workers, std::string reason) const;

  bool is_overdue() const;  // what was asked for with the last step
  bool is_there(std::uint32_t worker) const;
  bool is_of(std::uint32_t worker, const std::string& type) const;
  std::uint32_t count_of(const std::string& type) const;  // as the last step wants them
  std::uint32_t share_of(std::uint32_t worker) const;
  std::set<std::string> tried() const;  // types that were auditioned or tried, and the incumbent's
  double audition_time() const;         // since when the last audition goes on

  // Whether machines that are asked for are spot machines.
  bool asks_for_spot() const { return last_.spot.value_or(setting_.spot); }

  // Iterations until the target (target_left.h), at most those until a limit of iterations or
  // epochs; nothing: there is no such limit, and nothing tells of the target.
  struct Left {
    double iterations = 1.0;
    double log_spread = 0.0;  // standard deviation of their logarithm
  };
  std::optional<Left> left() const;
  // The same; if nothing tells, as long again as the job has taken, and a minute at least.
  double likely_iterations_left() const;
  // The latest of the last membership that was measured: one that has just begun has nothing to
  // tell.
  double latest_iteration_seconds() const;
  double start_seconds() const;  // until a machine on request computes
  double money_left() const;     // until the limit of cost, which leaves something for the end

 private:
  bool is_wanted(std::uint32_t worker, const std::string& type, bool on_demand) const;

  const VmRaceSetting& setting_;
  const RunNumbers& numbers_;
  const fact::VmStep& last_;
  const double last_time_;
  const fact::VmStep& incumbent_;
  const fact::Membership& membership_;
  const std::map<std::uint32_t, std::string> types_;
  const std::set<std::uint32_t> on_spot_;  // workers
};

}  // namespace scavenger::elastic
