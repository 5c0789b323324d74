#include "campaign/core/segment_length.h"

#include <algorithm>
#include <cmath>

namespace scavenger::campaign {
namespace {

constexpr double kLeastCheckpointSeconds = 0.02;
constexpr double kFirstCheckpointSeconds = 0.5;  // assumed before one was measured
constexpr std::uint64_t kTrialParts = 64;
constexpr std::uint32_t kMostHalvings = 40;
constexpr std::uint64_t kRestParts = 5;

}  // namespace

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
  double wanted = std::ldexp(static_cast<double>(question.steps) / kTrialParts,
                             -static_cast<int>(std::min(question.lost_trials, kMostHalvings)));
  if (question.steps_per_second > 0.0)
    wanted = question.interval_seconds * question.steps_per_second;
  if (wanted >= static_cast<double>(rest)) return question.steps;
  const std::uint64_t multiple = question.multiple;
  std::uint64_t end = question.from + static_cast<std::uint64_t>(wanted);
  end = std::max(end / multiple * multiple, (question.from / multiple + 1) * multiple);
  if (end >= question.steps) return question.steps;
  const bool is_rest_small =
      (question.steps - end) * kRestParts < end - question.from &&
      static_cast<double>(rest) / question.steps_per_second <= question.most_seconds;
  return is_rest_small ? question.steps : end;
}

}  // namespace scavenger::campaign
