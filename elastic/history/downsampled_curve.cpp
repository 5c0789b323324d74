#include "elastic/history/downsampled_curve.h"

#include <algorithm>
#include <cmath>

namespace scavenger::elastic {
namespace {

// Extends `point` by a later one.
void merge(CurvePoint& point, const CurvePoint& later) {
  point.last_iteration = later.last_iteration;
  point.epoch = later.epoch;
  point.time = later.time;
  if (later.count == 0) return;
  if (point.count == 0) {
    point.minimum = later.minimum;
    point.maximum = later.maximum;
  }
  const std::uint64_t count = point.count + later.count;
  point.mean +=
      (later.mean - point.mean) * static_cast<double>(later.count) / static_cast<double>(count);
  point.minimum = std::min(point.minimum, later.minimum);
  point.maximum = std::max(point.maximum, later.maximum);
  point.count = count;
}

}  // namespace

void DownsampledCurve::add(std::uint64_t iteration, double epoch, double time, double value) {
  const double kept = std::isfinite(value) ? value : 0.0;
  const CurvePoint point{.first_iteration = iteration,
                         .last_iteration = iteration,
                         .epoch = epoch,
                         .time = time,
                         .count = std::isfinite(value) ? std::uint64_t{1} : 0,
                         .mean = kept,
                         .minimum = kept,
                         .maximum = kept};
  add(point);
}

void DownsampledCurve::add(const CurvePoint& point) {
  const std::uint64_t values = point.last_iteration - point.first_iteration + 1;
  if (!points_.empty() && values_.back() < values_per_point_) {
    merge(points_.back(), point);
    values_.back() += values;
    return;
  }
  if (points_.size() == kMaxPoints) halve();
  points_.push_back(point);
  values_.push_back(values);
}

void DownsampledCurve::halve() {
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < kMaxPoints / 2; ++i) {
    points_[i] = points_[2 * i];
    merge(points_[i], points_[2 * i + 1]);
    values_[i] = values_[2 * i] + values_[2 * i + 1];
    most = std::max(most, values_[i]);
  }
  points_.resize(kMaxPoints / 2);
  values_.resize(kMaxPoints / 2);
  // What is to come is no finer than what was.
  values_per_point_ = std::max(2 * values_per_point_, most);
}

void DownsampledCurve::forget_after(std::uint64_t iteration) {
  while (!points_.empty() && points_.back().first_iteration > iteration) {
    points_.pop_back();
    values_.pop_back();
    if (!values_.empty()) values_.back() = std::max(values_.back(), values_per_point_);
  }
}

}  // namespace scavenger::elastic
