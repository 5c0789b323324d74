#include "elastic/batching/overhead_estimate.h"

#include <algorithm>
#include <cmath>

namespace scavenger::elastic {
namespace {

constexpr std::size_t kRemembered = 32;
// A smaller change of the share tells nothing beside the noise of the times.
constexpr double kSmallestLogChange = 0.2;
// Overheads are tried up to this many mean shares, in steps of a factor of 2^(1/4).
constexpr int kSteps = 28;
constexpr double kStepFactor = 1.189207115002721;
constexpr double kSmallestOverhead = 1.0 / 16.0;
// Of two that fit alike, the smaller: too much of it makes adjustments overshoot.
constexpr double kMisfitPerLogOverhead = 0.05;

}  // namespace

void OverheadEstimate::add(double share_before, double seconds_before, double share_after,
                           double seconds_after) {
  if (std::abs(std::log(share_after / share_before)) < kSmallestLogChange) return;
  changes_.push_back({share_before, share_after, std::log(seconds_after / seconds_before)});
  if (changes_.size() > kRemembered) changes_.pop_front();
  double mean_share = 0.0;
  for (const Change& change : changes_)
    mean_share +=
        (change.share_before + change.share_after) / 2.0 / static_cast<double>(changes_.size());
  samples_ = 0.0;
  double least = misfit(0.0);
  double tried = kSmallestOverhead * mean_share;
  for (int i = 0; i < kSteps; ++i, tried *= kStepFactor) {
    const double price = kMisfitPerLogOverhead * std::log1p(tried / mean_share);
    if (misfit(tried) + price >= least) continue;
    least = misfit(tried) + price;
    samples_ = tried;
  }
}

// Mean absolute error of the logarithm: a change that was no change of the share, because the
// worker got slower meanwhile, must not decide it.
double OverheadEstimate::misfit(double samples) const {
  double sum = 0.0;
  for (const Change& change : changes_)
    sum += std::abs(std::log((samples + change.share_after) / (samples + change.share_before)) -
                    change.log_ratio);
  return sum / static_cast<double>(changes_.size());
}

}  // namespace scavenger::elastic
