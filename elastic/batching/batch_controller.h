// Decides how a batch is shared out among unequal workers, from what they are seen to take: so that
// they finish together, and nobody waits. Pure, and fed with nothing but events of the log, in its
// order, so a replay of the log makes the same decisions. docs/design/dynamic_batching.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "elastic/batching/overhead_estimate.h"
#include "elastic/batching/pace_errors.h"
#include "elastic/batching/pace_window.h"
#include "elastic/control/share_rule.h"
#include "elastic/events/event.h"
#include "runtime/config/job_config.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::elastic {

struct BatchingSettings {
  // Shares change if that brings the workers' times closer together, (longest - shortest) /
  // mean, by more than this.
  double dead_band = 0.06;
  // The parts that make it more than proportional.
  PaceGains gains;
  // Before it is known, what a change of the shares costs in seconds without training.
  double change_seconds = 0.03;
  ShareRule bounds;  // without speeds
  // What machines can do before anything was measured, by their type (machine_power.h).
  std::map<std::string, double> machine_powers;
};
// `catalogue`: of the job's provider.
BatchingSettings batching_settings(const JobConfig& config, const MachineCatalogue& catalogue);

struct ShareProposal {
  ShareRule rule;
  std::string reason;
};

class BatchController final {
 public:
  explicit BatchController(BatchingSettings settings);

  // Any event of the log: those below count, others tell it nothing.
  std::optional<ShareProposal> observe(const RunEvent& event);
  // Before workers were measured their shares follow what their machines can do.
  void observe(const fact::Machine& machine);
  void observe(const fact::Membership& membership);
  void observe(const fact::Recovery& recovery);
  // What the shares should follow from now on, if they should change. Then no more until the
  // next membership.
  std::optional<ShareProposal> observe(const fact::Iterations& iterations);

  std::optional<ShareProposal> observe(const fact::IterationBlock& block);

  // What was proposed last; in the beginning the bounds, and what is known of machines.
  const ShareRule& rule() const { return rule_; }

 private:
  struct Measured {
    std::uint32_t share = 0;
    double seconds = 0.0;
    double samples_per_second() const { return share / seconds; }
  };
  // A share above which a worker was seen to get slower, and what it did with that share.
  struct LearnedBound {
    Measured best;
    double learned_at = 0.0;  // as measured_
  };
  // What new shares would do.
  struct Outlook {
    std::vector<std::uint32_t> shares;
    double gain = 0.0;     // of closeness: by how much the spread of the times falls
    double seconds = 0.0;  // that each iteration gets shorter
    double slowest = 0.0;  // seconds, as it is
    double slowest_then = 0.0;
  };

  // Seconds by rank of an iteration that stands for so many.
  bool add(std::vector<double> seconds, double stands_for);
  bool evidence_is_enough();
  bool lasts(const Outlook& recent);
  std::uint32_t share_of(std::uint32_t worker) const;  // in the membership, 0: it is not in it
  Outlook outlook(const std::vector<double>& seconds) const;
  std::vector<double> corrected(std::vector<double> seconds) const;
  std::map<std::uint32_t, double> speeds_with(const std::vector<double>& seconds) const;
  ShareRule rule_for(const std::map<std::uint32_t, double>& measured_speeds) const;
  std::optional<ShareProposal> propose();
  static bool has_grown(const Measured& then, const Measured& now);
  void learn_from_last_change();
  double slowdown_of_all(const std::vector<double>& seconds) const;
  void forget_old_bounds();

  const BatchingSettings settings_;
  fact::Membership membership_;  // no workers: there is none yet
  PaceWindow window_;
  PaceErrors errors_;
  std::uint64_t seen_ = 0;   // iterations of the membership
  double measured_ = 0.0;    // iterations in all
  double stands_for_ = 1.0;  // iterations, the one that was added last
  bool waits_ = false;       // for the membership that was proposed

  // The case for a change, which grows while one would help: in iterations, and in seconds lost.
  double evidence_ = 0.0;
  double seconds_lost_ = 0.0;
  std::size_t evidence_iterations_ = 0;

  double restraint_ = 0.0;  // changes of late
  double change_seconds_;
  std::map<std::uint32_t, Measured> before_;  // the last change, by worker
  bool learned_ = true;                       // from it
  OverheadEstimate overhead_;
  std::map<std::uint32_t, std::string> machine_types_;  // by worker, of the latest machine
  std::map<std::uint32_t, double> measured_speeds_;     // by worker
  ShareRule rule_;
  std::map<std::uint32_t, LearnedBound> learned_bounds_;
};

}  // namespace scavenger::elastic
