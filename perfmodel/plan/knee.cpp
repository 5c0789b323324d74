#include "perfmodel/plan/knee.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

struct DifferenceCurve {
  std::vector<double> values;  // normalised y - x of the curve made concave and increasing
  bool reversed = false;       // index i stands for point size - 1 - i
};

std::vector<double> normalised(std::span<const double> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  std::vector<double> result;
  for (const double value : values) result.push_back((value - *low) / (*high - *low));
  return result;
}

std::optional<DifferenceCurve> difference_curve(std::span<const double> x,
                                                std::span<const double> y, Curvature curvature,
                                                Direction direction) {
  SCAVENGER_CHECK(x.size() == y.size());
  SCAVENGER_CHECK(
      std::adjacent_find(x.begin(), x.end(), [](double a, double b) { return a >= b; }) == x.end());
  if (x.size() < 3) return std::nullopt;
  if (*std::min_element(y.begin(), y.end()) == *std::max_element(y.begin(), y.end()))
    return std::nullopt;
  DifferenceCurve curve{normalised(y), false};
  const std::vector<double> along = normalised(x);
  if (curvature == Curvature::kConvex)
    for (double& value : curve.values) value = 1.0 - value;
  curve.reversed = (curvature == Curvature::kConvex) == (direction == Direction::kIncreasing);
  if (curve.reversed) std::reverse(curve.values.begin(), curve.values.end());
  for (std::size_t i = 0; i < along.size(); ++i) curve.values[i] -= along[i];
  return curve;
}

// Non-strict, ends compared with themselves, as scipy's argrelextrema does in kneed.
bool is_maximum(std::span<const double> values, std::size_t i) {
  return (i == 0 || values[i] >= values[i - 1]) &&
         (i + 1 == values.size() || values[i] >= values[i + 1]);
}
bool is_minimum(std::span<const double> values, std::size_t i) {
  return (i == 0 || values[i] <= values[i - 1]) &&
         (i + 1 == values.size() || values[i] <= values[i + 1]);
}

}  // namespace

std::optional<std::size_t> kneedle(std::span<const double> x, std::span<const double> y,
                                   Curvature curvature, Direction direction, double sensitivity) {
  const auto curve = difference_curve(x, y, curvature, direction);
  if (!curve) return std::nullopt;
  const std::vector<double>& difference = curve->values;
  const double mean_step = 1.0 / static_cast<double>(x.size() - 1);
  bool watching = false;
  double threshold = 0.0;
  std::size_t candidate = 0;
  for (std::size_t i = 0; i + 1 < difference.size(); ++i) {
    if (is_maximum(difference, i)) {
      threshold = difference[i] - sensitivity * mean_step;
      candidate = i;
      watching = true;
    }
    if (is_minimum(difference, i)) watching = false;
    if (watching && difference[i + 1] < threshold)
      return curve->reversed ? x.size() - 1 - candidate : candidate;
  }
  return std::nullopt;
}

namespace {

// The point with the smallest time x cost of those that cannot be told from the knee.
Knee settle(Knee knee, const std::vector<double>& distances, std::span<const double> time,
            std::span<const double> cost, std::span<const double> relative_errors) {
  const auto range = [](std::span<const double> values) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return *high - *low;
  };
  // Time and cost err together, so the distance errs by the sum of both shares.
  const auto error = [&](std::size_t i) {
    return relative_errors[i] * (time[i] / range(time) + cost[i] / range(cost));
  };
  Knee best = knee;
  for (std::size_t i = 1; i + 1 < time.size(); ++i) {
    const double behind = distances[knee.index] - distances[i];
    if (behind > std::hypot(error(i), error(knee.index))) continue;
    if (time[i] * cost[i] < time[best.index] * cost[best.index]) best.index = i;
  }
  best.was_certain = best.index == knee.index;
  return best;
}

}  // namespace

std::optional<Knee> cost_time_knee(std::span<const double> time, std::span<const double> cost,
                                   std::span<const double> relative_errors) {
  constexpr std::size_t kFewestPoints = 4;
  constexpr double kRounding = 1e-9;
  const auto curve = difference_curve(time, cost, Curvature::kConvex, Direction::kDecreasing);
  if (!curve || time.size() < kFewestPoints) return std::nullopt;
  const auto farthest = std::max_element(curve->values.begin(), curve->values.end());
  if (*farthest <= kRounding) return std::nullopt;
  Knee knee{static_cast<std::size_t>(farthest - curve->values.begin()), false};
  if (const auto index = kneedle(time, cost, Curvature::kConvex, Direction::kDecreasing, 0.0))
    knee = {*index, true};
  if (relative_errors.empty()) return knee;
  SCAVENGER_CHECK(relative_errors.size() == time.size());
  return settle(knee, curve->values, time, cost, relative_errors);
}

}  // namespace scavenger::perfmodel
