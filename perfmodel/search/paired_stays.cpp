#include "perfmodel/search/paired_stays.h"

#include <algorithm>
#include <cmath>

namespace scavenger::perfmodel {
namespace {

constexpr double kUsualDrift = 0.02;
// Of what is known from one of the first iterations alone.
constexpr double kRoughDeviation = 0.3;
constexpr double kRoughSlowShare = 0.5;  // of the logarithm of how much slower they were

bool is_same_size(const Configuration& a, const Configuration& b) {
  return a.workers == b.workers && a.global_batch == b.global_batch;
}

struct SeenRatio {
  double log_ratio = 0.0;  // of the pace beside that before
  double variance = 0.0;
};

std::optional<SeenRatio> ratio_seen(const Stay& stay, const MeasuredPace& before) {
  if (is_measured(stay))
    return SeenRatio{std::log(stay.whole->seconds / before.seconds),
                     variance_of(*stay.whole) + variance_of(before)};
  if (stay.iterations == 0) return std::nullopt;
  const double seconds = stay.whole ? stay.whole->seconds : early_pace(stay);
  if (!(seconds > 0.0)) return std::nullopt;
  const double log_ratio = std::log(seconds / before.seconds);
  const double deviation = kRoughDeviation + kRoughSlowShare * std::max(0.0, log_ratio);
  return SeenRatio{log_ratio, deviation * deviation / static_cast<double>(stay.iterations) +
                                  variance_of(before)};
}

}  // namespace

std::optional<MeasuredPace> pace_at_end(const Stay& stay) {
  if (stay.last && stay.last->iterations >= kFewestMeasured) return stay.last;
  return stay.whole;
}

bool is_measured(const Stay& stay) {
  return stay.whole && stay.whole->iterations >= kFewestMeasured;
}

double mean_pace(const Stay& stay) {
  return stay.seconds / static_cast<double>(std::max<std::uint64_t>(1, stay.iterations));
}

double early_pace(const Stay& stay) {
  return stay.after_first.value_or(mean_pace(stay));
}

std::optional<double> pace_before_break_off(std::span<const Stay> stays, const Configuration& at) {
  std::optional<double> quickest;
  for (const Stay& stay : stays) {
    if (!is_same_size(stay.configuration, at) || stay.iterations == 0) continue;
    if (is_measured(stay)) return std::nullopt;
    quickest = std::min(quickest.value_or(early_pace(stay)), early_pace(stay));
  }
  return quickest;
}

// Means of iterations that follow each other are not independent.
double variance_of(const MeasuredPace& pace) {
  constexpr double kPriorIterations = 3.0;
  const auto n = static_cast<double>(pace.iterations);
  const double own = pace.relative_error * pace.relative_error;
  return (n * own + kPriorIterations * kUsualIterationScatter * kUsualIterationScatter / n) /
         (n + kPriorIterations);
}

// Of stays at one configuration, one after the other but for a visit.
double drift_variance(std::span<const Stay> stays) {
  constexpr double kPriorPairs = 2.0;
  double squares = kPriorPairs * kUsualDrift * kUsualDrift, count = kPriorPairs;
  for (std::size_t i = 2; i < stays.size(); ++i) {
    const Stay &before = stays[i - 2], &after = stays[i];
    if (!is_same_size(before.configuration, after.configuration)) continue;
    const auto then = pace_at_end(before), now = after.whole;
    if (!then || !now) continue;
    const double change = std::log(now->seconds / then->seconds);
    squares += std::max(0.0, change * change - variance_of(*then) - variance_of(*now));
    ++count;
  }
  return squares / count;
}

std::vector<PairedTime> paired_times(std::span<const Stay> stays) {
  const double drift = drift_variance(stays);
  std::vector<PairedTime> pairs;
  for (std::size_t i = 1; i < stays.size(); ++i) {
    const Stay &before = stays[i - 1], &now = stays[i];
    if (!is_measured(before) || is_same_size(before.configuration, now.configuration)) continue;
    if (const auto seen = ratio_seen(now, *pace_at_end(before)))
      pairs.push_back(
          {now.configuration, before.configuration, seen->log_ratio, seen->variance + drift});
  }
  return pairs;
}

}  // namespace scavenger::perfmodel
