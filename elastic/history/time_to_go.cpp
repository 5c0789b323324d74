#include "elastic/history/time_to_go.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace scavenger::elastic {
namespace {

constexpr double kNormal95 = 1.96;
constexpr double kShortestJobSeconds = 60.0;

const fact::PredictedConfiguration* find_candidate(const fact::Prediction& prediction,
                                                   std::uint32_t workers,
                                                   std::uint32_t batch_size) {
  for (const fact::PredictedConfiguration& one : prediction.candidates)
    if (one.workers == workers && one.batch_size == batch_size) return &one;
  return nullptr;
}

// A search may have stayed where it was, since the move was not worth its cost.
const fact::PredictedConfiguration* configuration_led_to(const RunNumbers& numbers,
                                                         const fact::Prediction& prediction) {
  if (!numbers.search_steps.latest.empty()) {
    const fact::SearchStep& step = numbers.search_steps.latest.back().fact;
    if (step.phase == fact::SearchPhase::kSettled)
      if (const auto* settled = find_candidate(prediction, step.workers, step.batch_size))
        return settled;
  }
  return find_candidate(prediction, prediction.workers, prediction.batch_size);
}

// Of a whole job with this batch.
double epochs_at(const fact::Prediction& prediction, std::uint32_t batch_size) {
  const fact::PredictedConfiguration* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const fact::PredictedConfiguration& one : prediction.candidates) {
    const double distance = std::abs(std::log(static_cast<double>(one.batch_size) / batch_size));
    if (!(one.epochs > 0.0) || !(distance < least)) continue;
    least = distance;
    nearest = &one;
  }
  return nearest == nullptr ? std::numeric_limits<double>::infinity() : nearest->epochs;
}

// By how much the mean may be off, as a part of it.
double relative_error_of_mean(const SeriesStatistics& series) {
  const RunningMoments& moments = series.moments();
  if (moments.count() < 2 || !(moments.mean() > 0.0)) return 0.0;
  return std::min(1.0, kNormal95 * moments.standard_error() / moments.mean());
}

}  // namespace

std::optional<TimeToGo> estimate_time_to_go(const RunNumbers& numbers) {
  if (numbers.phases.empty() || numbers.phases.back().iterations == 0) return std::nullopt;
  const PhaseNumbers& phase = numbers.phases.back();
  const fact::Limits& limits = numbers.start.limits;
  const double per_iteration =
      (phase.seconds - phase.paused_seconds) / static_cast<double>(phase.iterations);
  const double per_epoch = per_iteration * static_cast<double>(numbers.start.samples_per_epoch) /
                           phase.membership.batch_size;
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  double seconds = kNoLimit;
  if (limits.max_epochs > 0.0)
    seconds = std::min(seconds, (limits.max_epochs - numbers.epochs()) * per_epoch);
  if (limits.max_iterations > 0)
    seconds = std::min(seconds, (static_cast<double>(limits.max_iterations) -
                                 static_cast<double>(numbers.iterations)) *
                                    per_iteration);
  double error = relative_error_of_mean(phase.iteration_seconds);
  const double until_time =
      limits.max_seconds > 0.0 ? limits.max_seconds - numbers.seconds : kNoLimit;
  if (until_time < seconds) {
    seconds = until_time;
    error = 0.0;
  }
  if (seconds == kNoLimit) return std::nullopt;
  seconds = std::max(0.0, seconds);
  return TimeToGo{.seconds = seconds,
                  .seconds_low = seconds * (1.0 - error),
                  .seconds_high = std::min(seconds * (1.0 + error), std::max(seconds, until_time)),
                  .cost = seconds * phase.membership.workers * phase.price_per_worker_hour / 3600.0,
                  .at_most = numbers.start.target.has_value()};
}

double progress_to_target(const RunNumbers& numbers, const fact::Prediction& prediction) {
  const auto per_epoch =
      static_cast<double>(std::max<std::uint64_t>(1, numbers.start.samples_per_epoch));
  double progress = 0.0;
  // From the last to the first: what an earlier one did beyond the next one's beginning was lost.
  std::uint64_t end = numbers.position;
  for (auto phase = numbers.phases.rbegin(); phase != numbers.phases.rend(); ++phase) {
    const fact::Membership& membership = phase->membership;
    if (phase->memberships > 1) {  // their places in the order of samples are not known any more
      progress += static_cast<double>(phase->samples) / per_epoch /
                  epochs_at(prediction, membership.batch_size);
      continue;
    }
    if (membership.position >= end) continue;
    progress += static_cast<double>(end - membership.position) / per_epoch /
                epochs_at(prediction, membership.batch_size);
    end = membership.position;
  }
  return std::min(1.0, progress);
}

double seconds_to_target(const RunNumbers& numbers, const fact::Prediction& prediction,
                         const fact::PredictedConfiguration& at) {
  if (prediction.relative) return std::max(numbers.seconds, kShortestJobSeconds);
  return (1.0 - progress_to_target(numbers, prediction)) * at.seconds;
}

std::optional<PredictedToGo> predicted_to_go(const RunNumbers& numbers) {
  if (!numbers.prediction || numbers.prediction->fact.relative || numbers.status)
    return std::nullopt;
  const fact::Prediction& prediction = numbers.prediction->fact;
  const fact::PredictedConfiguration* const at = configuration_led_to(numbers, prediction);
  if (at == nullptr || !(at->seconds > 0.0) || !std::isfinite(at->seconds)) return std::nullopt;
  const double part = seconds_to_target(numbers, prediction, *at) / at->seconds;
  return PredictedToGo{.seconds = part * at->seconds,
                       .seconds_low = part * at->seconds_low,
                       .seconds_high = part * at->seconds_high,
                       .cost = part * at->cost};
}

}  // namespace scavenger::elastic
