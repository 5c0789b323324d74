#include "noise/grouped_noise.h"

#include <numeric>

#include "runtime/base/check.h"

namespace scavenger::noise {

GroupedNoise::GroupedNoise(std::size_t groups, NoiseOptions options)
    : groups_(groups, NoiseEstimator(options)), whole_(options) {
  SCAVENGER_CHECK(groups > 0);
}

bool GroupedNoise::add(std::span<const double> samples, std::span<const double> part_sqr_norms,
                       std::span<const double> batch_sqr_norms, double learning_rate) {
  const std::size_t groups = groups_.size();
  SCAVENGER_CHECK(part_sqr_norms.size() == samples.size() * groups);
  SCAVENGER_CHECK(batch_sqr_norms.size() == groups);
  parts_.resize(samples.size());
  for (std::size_t part = 0; part < samples.size(); ++part) {
    const auto row = part_sqr_norms.subspan(part * groups, groups);
    parts_[part] = {samples[part], std::accumulate(row.begin(), row.end(), 0.0)};
  }
  const double batch = std::accumulate(batch_sqr_norms.begin(), batch_sqr_norms.end(), 0.0);
  if (!whole_.add(NoiseIteration{parts_, batch, learning_rate})) return false;
  for (std::size_t group = 0; group < groups; ++group) {
    for (std::size_t part = 0; part < samples.size(); ++part)
      parts_[part].sqr_norm = part_sqr_norms[part * groups + group];
    groups_[group].add(NoiseIteration{parts_, batch_sqr_norms[group], learning_rate});
  }
  return true;
}

}  // namespace scavenger::noise
