#include "campaign/core/segment_length.h"

#include <algorithm>

#include "perfmodel/survival/early_hazard.h"

namespace scavenger::campaign {
namespace {

constexpr double kLeastCheckpointSeconds = 0.02;
constexpr double kFirstCheckpointSeconds = 0.5;  // assumed before one was measured
constexpr double kLeastLifeSeconds = 1e-3;
constexpr std::size_t kLossesForFit = 30;
// The fit looks for early losses within minutes to hours; emulated machines live for seconds.
constexpr double kLeastMeanForFitSeconds = 3600.0;
constexpr std::uint64_t kTrialParts = 64;
constexpr std::uint64_t kRestParts = 5;

}  // namespace

MachineLives::MachineLives(double prior_mean_seconds)
    : prior_mean_seconds_(prior_mean_seconds),
      survival_(std::make_shared<perfmodel::EarlyHazard>(
          perfmodel::constant_hazard({}, prior_mean_seconds))) {}

void MachineLives::add(double seconds, bool was_lost) {
  lives_.push_back({std::max(seconds, kLeastLifeSeconds), was_lost});
  losses_ += was_lost ? 1 : 0;
  const auto constant = perfmodel::constant_hazard(lives_, prior_mean_seconds_);
  const bool has_early_losses =
      losses_ >= kLossesForFit && constant.mean_life_seconds() >= kLeastMeanForFitSeconds;
  survival_ = std::make_shared<perfmodel::EarlyHazard>(
      has_early_losses ? perfmodel::fit_early_hazard(lives_, perfmodel::kNeverSeconds) : constant);
}

void CheckpointCost::add(double seconds) {
  sum_seconds_ += seconds;
  count_ += 1.0;
}

double CheckpointCost::seconds() const {
  if (count_ == 0.0) return kFirstCheckpointSeconds;
  return std::max(kLeastCheckpointSeconds, sum_seconds_ / count_);
}

std::uint64_t segment_end(const SegmentQuestion& question) {
  const std::uint64_t rest = question.steps - question.from;
  double wanted = static_cast<double>(question.steps) / static_cast<double>(kTrialParts);
  if (question.steps_per_second > 0.0)
    wanted = question.interval_seconds * question.steps_per_second;
  if (wanted >= static_cast<double>(rest)) return question.steps;
  const std::uint64_t multiple = question.multiple;
  std::uint64_t end = question.from + static_cast<std::uint64_t>(wanted);
  end = std::max(end / multiple * multiple, (question.from / multiple + 1) * multiple);
  if (end >= question.steps) return question.steps;
  const bool is_rest_small = (question.steps - end) * kRestParts < end - question.from;
  return is_rest_small ? question.steps : end;
}

}  // namespace scavenger::campaign
