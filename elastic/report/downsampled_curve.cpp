#include "elastic/report/downsampled_curve.h"

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
  if (!points_.empty() && values_in_last_ < values_per_point_) {
    merge(points_.back(), point);
    ++values_in_last_;
    return;
  }
  if (points_.size() == kMaxPoints) {
    for (std::size_t i = 0; i < kMaxPoints / 2; ++i) {
      points_[i] = points_[2 * i];
      merge(points_[i], points_[2 * i + 1]);
    }
    points_.resize(kMaxPoints / 2);
    values_per_point_ *= 2;
  }
  points_.push_back(point);
  values_in_last_ = 1;
}

void DownsampledCurve::forget_after(std::uint64_t iteration) {
  while (!points_.empty() && points_.back().first_iteration > iteration) {
    points_.pop_back();
    values_in_last_ = values_per_point_;
  }
}

}  // namespace scavenger::elastic
