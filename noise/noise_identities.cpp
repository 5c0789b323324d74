#include "noise/noise_identities.h"

#include <cmath>
#include <limits>

#include "runtime/base/check.h"

namespace scavenger::noise {

double gamma_from_noise_scale(double noise_scale, double workers, double global_batch) {
  SCAVENGER_CHECK(noise_scale >= 0.0 && workers >= 1.0 && global_batch > 0.0);
  if (std::isinf(noise_scale)) return workers;
  return (global_batch + workers * noise_scale) / (global_batch + noise_scale);
}

double noise_scale_from_gamma(double gamma, double workers, double global_batch) {
  SCAVENGER_CHECK(workers > 1.0 && global_batch > 0.0);
  if (gamma >= workers) return std::numeric_limits<double>::infinity();
  return global_batch * (gamma - 1.0) / (workers - gamma);
}

}  // namespace scavenger::noise
