#include "perfmodel/time/time_interval.h"

#include <algorithm>
#include <cmath>

namespace scavenger::perfmodel {
namespace {

constexpr double kUnbounded = 20.0;  // |ln| of a factor, larger than any that there is

double log_distance(double a, double b) {
  return std::abs(std::log(a / b));
}

}  // namespace

ErrorScale error_scale_after(const IntervalErrors& before, double left_out_square,
                             double spare_observations) {
  const double seen = before.left_out_weight * spare_observations;
  const double degrees = before.prior_degrees + seen;
  return {(before.prior_degrees * before.prior_square + seen * left_out_square) / degrees, degrees};
}

double interval_variance(const IntervalErrors& errors, const ErrorScale& scale,
                         const PointErrors& point) {
  const double departure = errors.batch_departure * point.compute_elasticity;
  const double model = scale.square * (point.fit + departure * departure * point.nearest_batch) +
                       point.between_forms;
  // ln(seconds) lies within +-distance of one that was measured. A uniform distribution there has
  // the variance distance^2 / 3; knowledge from two sources adds in precision.
  const double bound =
      point.nearest_distance * point.nearest_distance / 3.0 + scale.square * point.measurement;
  return bound > 0.0 ? model * bound / (model + bound) : 0.0;
}

double nearest_batch(const Configuration& c, std::span<const Configuration> measured) {
  double nearest = kUnbounded;
  for (const Configuration& m : measured)
    nearest = std::min(nearest, log_distance(c.local_batch(), m.local_batch()));
  return nearest;
}

double nearest_distance(const Configuration& c, std::span<const Configuration> measured) {
  double nearest = kUnbounded;
  for (const Configuration& m : measured) {
    if ((c.workers == 1.0) != (m.workers == 1.0)) continue;
    const double workers = c.workers == 1.0 ? 0.0 : log_distance(c.workers - 1.0, m.workers - 1.0);
    nearest = std::min(nearest, workers + log_distance(c.local_batch(), m.local_batch()) +
                                    log_distance(c.slowdown, m.slowdown));
  }
  return nearest;
}

}  // namespace scavenger::perfmodel
