// One simulated job, planned as `scavenger-plan vms` plans it, with the auditions that the plan
// asks for, and then run as planned. Beside it what the best plan would have come to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "test/study/vms/simulated_job.h"

namespace scavenger::elastic {

// What the planner does without, each by itself.
struct VmTrialSetting {
  bool variance = true;  // else medians alone decide: 50 % suffice, and all VMs are alike
  bool transfer = true;  // else the catalogue says nothing of speeds and links
  std::size_t auditions = 4;
  std::size_t most_types = 1;
  perfmodel::Sharing sharing = perfmodel::Sharing::kDynamic;
  bool free_batch = true;  // else B is the middle one of those that were measured
};

// A probability that a plan stated, and whether it came true.
struct Promise {
  double probability = 0.0;
  bool held = false;
};

// Where the true time of a row fell.
struct Interval {
  VmEvidence evidence = VmEvidence::kCatalogue;
  bool below = false;  // the 10 % quantile
  bool above = false;  // the 90 % quantile
};

struct VmTrial {
  std::vector<Promise> time;  // of every row of the plan
  std::vector<Promise> cost;
  std::vector<Interval> intervals;
  std::optional<Promise> both;  // of the choice
  std::size_t auditions = 0;
  double audition_dollars = 0.0;
  // Whether some plan was expected to keep both limits, with what is true known.
  bool is_feasible = false;
  // The choice's figure of its policy, auditions paid, over that of the best plan that keeps the
  // limits, less one; nothing: no choice, or none that keeps them.
  std::optional<double> regret;
};

VmTrial run_vm_trial(std::uint64_t number, const VmTrialSetting& setting);

// A diagram of reliability: promises by what they promised.
struct ReliabilityBin {
  double low = 0.0, high = 0.0;
  double promised = 0.0;  // mean
  double held = 0.0;      // share
  std::size_t count = 0;
};
std::vector<ReliabilityBin> reliability(const std::vector<Promise>& promises);

}  // namespace scavenger::elastic
