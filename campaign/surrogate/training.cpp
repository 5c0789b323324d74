#include "campaign/surrogate/training.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace scavenger::surrogate {

Encoding encode(const UnitSpace& space, std::span<const Sample> samples,
                const FitSettings& settings) {
  SCAVENGER_CHECK(samples.size() >= 2);
  constexpr double kMostRows = 16.0;
  std::vector<std::vector<double>> profiles;
  double shortest = samples.front().steps;
  for (const Sample& sample : samples) {
    profiles.push_back(sample.profile);
    shortest = std::min(shortest, sample.steps);
  }
  Encoding encoding{
      space,
      principal_components(profiles, settings.component_share, settings.most_components),
      {},
      {}};
  // Between the error of the profile, to which the last components contribute nothing, and equal
  // weights, which would spend the network on them.
  const std::vector<double>& deviations = encoding.components.deviations;
  for (const double deviation : deviations)
    encoding.output_scales.push_back(std::sqrt(deviation / deviations.front()));
  encoding.set.inputs = samples.front().parameters.size();
  encoding.set.outputs = encoding.components.components();
  for (const Sample& sample : samples) {
    const std::vector<double> x = space.to_unit(sample.parameters);
    const std::vector<double> y = encoding.components.coordinates(sample.profile);
    const auto rows =
        static_cast<int>(std::lround(std::clamp(sample.steps / shortest, 1.0, kMostRows)));
    for (int row = 0; row < rows; ++row) {
      for (const double value : x) encoding.set.x.push_back(static_cast<float>(value));
      for (std::size_t k = 0; k < y.size(); ++k)
        encoding.set.y.push_back(static_cast<float>(y[k] * encoding.output_scales[k]));
    }
  }
  return encoding;
}

}  // namespace scavenger::surrogate
