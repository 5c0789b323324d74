// A search that is always worth it: at every moment, whether to look at another configuration, at
// which, and whether to stay there (docs/search.md, mode `auto`).
//
// A look is an investment. What it may gain is the policy's objective for what is left of the job,
// in expectation under what is known of seconds and epochs (relative_times.h, epochs_ratio.h),
// where the job stays only if it has become better: E[max(0, 1 - r)], r being the objective there
// beside that where the job is now. What it costs is the time, and the money, beyond what the same
// progress takes where the job is, with the moves. The next look is the one that gains most beyond
// its cost for each second; there is none where no gain exceeds its cost, or where the budget
// (exploration.h) forbids it, or is soon enough for one that gains more than twice as much. A look
// whose first iterations are so slow that the budget would not bear the next one, or that the rest
// of it would cost more than it can still gain, is broken off. The budget goes by all iterations;
// what is to be expected of the others leaves out the first one, which is slow where workers are
// new. What was seen until then is a measurement with a large error (its configuration is at most
// so slow, as iterations take long by chance), and another look may follow once the budget bears
// it.
//
// A look of a few iterations tells the seconds of an iteration. One that is long enough to see the
// training loss fall tells what a sample is worth at another batch, too (measured_progress.h): a
// look at another batch goes on for that as long as it is worth it by the same reckoning.
//
// Pure: a function of the stays so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "perfmodel/plan/policy.h"
#include "perfmodel/search/epochs_ratio.h"
#include "perfmodel/search/exploration.h"
#include "perfmodel/search/measured_progress.h"
#include "perfmodel/search/relative_times.h"

namespace scavenger::perfmodel {

struct PricedConfiguration {
  Configuration configuration;
  double dollars_per_second = 0.0;
};

struct SearchSituation {
  std::span<const PricedConfiguration> candidates{};  // with all that were stayed at
  Policy policy = Policy::kKnee;
  double budget = 0.05;           // share of elapsed time, and cost, that looking may take
  std::uint32_t iterations = 20;  // most that one look measures
  std::span<const Stay> stays{};  // the last is the present one
  double elapsed_seconds = 0.0;
  double elapsed_dollars = 0.0;
  // At the base; nothing: as long again as it has run.
  std::optional<double> left_seconds{};
  std::optional<MeasuredNoise> noise{};       // so far
  std::optional<NoiseGrowth> noise_growth{};  // likewise
  std::optional<MeasuredNoise> noise_of_earlier_jobs{};
  std::span<const LossPoint> losses{};  // of the whole job, oldest first
  // Epochs of earlier runs, E[epochs at a / epochs at b]; empty: by the noise.
  std::function<double(double a, double b)> known_epochs_ratio{};
  double change_seconds = 1.0;   // that a move takes, as measured in this job
  double start_seconds = 0.0;    // that new machines are paid for before they train, likewise
  double report_seconds = 0.05;  // iterations of a look are told of this rarely
};

enum class SearchMove {
  kNone,    // go on
  kLook,    // go to the candidate and measure it
  kAdopt,   // stay at what was looked at
  kReturn,  // go back to the base
};

// The objective at a candidate beside the base's. A prediction of what is left, not of the past.
struct RelativeObjective {
  double expected = 1.0;  // E[r]
  double low = 1.0;       // 95 % interval
  double high = 1.0;
  double pace = 1.0;  // seconds per iteration beside the base's, and their 95 % interval
  double pace_low = 1.0;
  double pace_high = 1.0;
  double epochs = 1.0;   // E[epochs beside those of the base's batch]
  double seconds = 1.0;  // E[time beside the base's]
  double dollars = 1.0;
};

struct SearchAdvice {
  SearchMove move = SearchMove::kNone;
  std::size_t candidate = 0;      // that the job is to have now
  double expected_gain = 0.0;     // of a look: share of what is left, its cost not deducted
  double expected_cost = 0.0;     // likewise
  Expense charged{};              // so far
  Expense allowed{};              // until now, in all
  RelativeObjective objective{};  // of kAdopt and kReturn: of what was looked at, beside the base
  bool is_broken_off = false;     // kReturn: before it was measured, since it cost too much
};

// Requires stays that begin with a base, and candidates that hold all of their configurations.
SearchAdvice advise(const SearchSituation& situation);

// Every candidate beside the base.
std::vector<RelativeObjective> relative_objectives(const SearchSituation& situation);

}  // namespace scavenger::perfmodel
