#include "perfmodel/time/time_form.h"

#include <algorithm>
#include <cmath>

namespace scavenger::perfmodel {
namespace {

constexpr int kFloorDoublings = 3;    // an 8-norm
constexpr int kOverlapDoublings = 2;  // a 4-norm

struct NormOfTwo {
  double value = 0.0;
  double d_first = 0.0;
  double d_second = 0.0;
};

// (x^n + y^n)^(1/n), n = 2^doublings, of two numbers >= 0, by squares and square roots (pow would
// be most of the cost of a fit). Its derivative at the origin is taken as that along x.
NormOfTwo norm_of_two(double x, double y, int doublings) {
  const double larger = std::max(x, y);
  if (larger <= 0.0) return {0.0, 1.0, 0.0};
  const auto to_the_n = [&](double ratio) {
    for (int i = 0; i < doublings; ++i) ratio *= ratio;
    return ratio;
  };
  double root = to_the_n(x / larger) + to_the_n(y / larger);
  for (int i = 0; i < doublings; ++i) root = std::sqrt(root);
  const double value = larger * root;
  const auto slope = [&](double z) { return z > 0.0 ? to_the_n(z / value) * value / z : 0.0; };
  return {value, slope(x), slope(y)};
}

double shape_of(SyncShape shape, double workers) {
  switch (shape) {
    case SyncShape::kShard:
      return workers - 1.0;
    case SyncShape::kSpread:
      return (workers - 1.0) / workers;
    case SyncShape::kTree:
      return std::log2(workers);
  }
  return 0.0;
}

}  // namespace

std::string describe(const TimeForm& form) {
  std::string text = form.shape == SyncShape::kShard    ? "shard"
                     : form.shape == SyncShape::kSpread ? "spread"
                                                        : "tree";
  if (form.overlap) text += " + overlap";
  if (form.floor) text += " + floor";
  if (form.batch_term) text += " + batch term";
  return text;
}

bool uses(const TimeForm& form, TimeParameter parameter) {
  switch (parameter) {
    case kOverlapShare:
      return form.overlap;
    case kComputeFloor:
      return form.floor;
    case kSyncPerSample:
      return form.batch_term;
    default:
      return true;
  }
}

TimeParts evaluate(const TimeForm& form, const TimeParameters& parameters,
                   const Configuration& configuration) {
  const double workers = configuration.workers;
  const double local_batch = configuration.local_batch();
  const double linear = parameters[kComputeBase] + parameters[kComputePerSample] * local_batch;
  NormOfTwo alone{linear, 1.0, 0.0};
  if (form.floor) alone = norm_of_two(linear, parameters[kComputeFloor], kFloorDoublings);
  const double doublings = std::log2(workers);
  const double wait = (1.0 + parameters[kStraggling] * doublings) * configuration.slowdown;
  const bool alone_in_cluster = workers <= 1.0;
  const double shape = shape_of(form.shape, workers);

  TimeParts parts;
  parts.compute = alone.value * wait;
  if (!alone_in_cluster)
    parts.sync = parameters[kSyncBase] + parameters[kSyncSlope] * shape +
                 parameters[kSyncPerSample] * configuration.global_batch;
  const double share = parameters[kOverlapShare];
  const NormOfTwo beside = norm_of_two(share * parts.compute, parts.sync, kOverlapDoublings);
  parts.seconds = (1.0 - share) * parts.compute + beside.value;

  const double d_compute = 1.0 - share + share * beside.d_first;
  // Without overlap S enters alone, with slope 1; norm_of_two cannot know which of two zeros is S.
  const double d_sync = share > 0.0 ? beside.d_second : 1.0;
  parts.gradient[kComputeBase] = d_compute * wait * alone.d_first;
  parts.gradient[kComputePerSample] = d_compute * wait * alone.d_first * local_batch;
  parts.gradient[kComputeFloor] = form.floor ? d_compute * wait * alone.d_second : 0.0;
  parts.gradient[kStraggling] = d_compute * alone.value * doublings * configuration.slowdown;
  parts.gradient[kOverlapShare] = parts.compute * (beside.d_first - 1.0);
  if (!alone_in_cluster) {
    parts.gradient[kSyncBase] = d_sync;
    parts.gradient[kSyncSlope] = d_sync * shape;
    parts.gradient[kSyncPerSample] = d_sync * configuration.global_batch;
  }
  parts.compute_elasticity = d_compute * parts.compute / parts.seconds;
  parts.sync_elasticity = d_sync * parts.sync / parts.seconds;
  return parts;
}

}  // namespace scavenger::perfmodel
