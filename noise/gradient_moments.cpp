#include "noise/gradient_moments.h"

#include <cmath>

#include "runtime/base/check.h"

namespace scavenger::noise {

std::optional<GradientMoments> estimate_moments(std::span<const PartNorm> parts,
                                                double batch_sqr_norm) {
  double samples = 0.0;
  double weighted_norms = 0.0;
  double part_count = 0.0;
  for (const PartNorm& part : parts) {
    SCAVENGER_CHECK(part.samples >= 0.0);
    if (part.samples == 0.0) continue;  // a worker that got no sample of a small batch
    samples += part.samples;
    weighted_norms += part.samples * part.sqr_norm;
    part_count += 1.0;
  }
  if (part_count < 2.0) return std::nullopt;
  const double mean_norm = weighted_norms / samples;
  const double excess = (mean_norm - batch_sqr_norm) / (part_count - 1.0);
  const GradientMoments moments{.gradient_sqr_norm = batch_sqr_norm - excess,
                                .trace_per_sample = samples * excess};
  if (!std::isfinite(moments.gradient_sqr_norm) || !std::isfinite(moments.trace_per_sample))
    return std::nullopt;
  return moments;
}

}  // namespace scavenger::noise
