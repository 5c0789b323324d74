// A job on a virtual clock that searches for its configuration, or does not, on a machine that is
// quiet or busy.
#pragma once

#include <cstdint>
#include <span>

#include "test/study/search/trial_truth.h"

namespace scavenger::perfmodel {

enum class TrialMode { kOff, kPartial, kAdaptive, kAuto };

struct TrialSetting {
  TrialMode mode = TrialMode::kOff;
  Policy policy = Policy::kMinimumTime;
  double change_seconds = 0.3;  // of a move; each differs by half from that
  double start_seconds = 0.0;   // of new machines, which are paid for meanwhile
  double budget = 0.05;
  bool knows_epochs = false;  // `auto` is told the truth of them
  std::uint32_t cold_start_iterations = 500;
  // How much slower the machine is in each successive second; empty: never.
  std::span<const double> disturbance{};
  // This share of all iterations take longer by a factor from Pareto's distribution, whose mean is
  // not finite; a hundred times at most.
  double long_iterations = 0.0;
  std::size_t start = 0;      // place of the point at which the job begins
  bool knows_length = false;  // `auto` is told what is left
};

struct TrialOutcome {
  double seconds = 0.0;
  double machine_seconds = 0.0;
  double objective = 0.0;
  Configuration last{};
  double regret = 0.0;  // of the last configuration's objective beside the oracle's
  std::uint64_t moves = 0;
  // kAuto only: the share of elapsed seconds, or machine seconds, that looking was charged with,
  // the largest ever, without R and M of exploration.h.
  double largest_share = 0.0;
  std::uint64_t broken_off = 0;  // looks
};

TrialOutcome run_trial(const TrialTruth& truth, const TrialSetting& setting, std::uint64_t seed);

}  // namespace scavenger::perfmodel
