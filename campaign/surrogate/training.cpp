#include "campaign/surrogate/training.h"

#include <algorithm>
#include <cmath>

#include "perfmodel/fit/matrix.h"
#include "runtime/base/check.h"

namespace scavenger::surrogate {
namespace {

constexpr double kRidge = 1e-6;

// Whether there are two samples for each coefficient of an affine function of the parameters.
bool is_enough(std::span<const std::vector<double>> units) {
  return units.size() >= 2 * (1 + units.front().size());
}

// The affine function of the parameters in [-1, 1] that has the least squared error. Nothing, if
// there are fewer than two samples for each of its coefficients.
std::vector<std::vector<double>> affine_trend(std::span<const std::vector<double>> units,
                                              std::span<const Sample> samples) {
  const std::size_t terms = 1 + units.front().size();
  if (!is_enough(units)) return {};
  const std::size_t bins = samples.front().profile.size();
  perfmodel::Matrix gram(terms, terms);
  std::vector<std::vector<double>> right(bins, std::vector<double>(terms));
  for (std::size_t s = 0; s < samples.size(); ++s) {
    std::vector<double> row{1.0};
    row.insert(row.end(), units[s].begin(), units[s].end());
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t j = 0; j < terms; ++j) gram(i, j) += row[i] * row[j];
      for (std::size_t b = 0; b < bins; ++b) right[b][i] += row[i] * samples[s].profile[b];
    }
  }
  // A parameter that has one value only has no slope.
  for (std::size_t i = 0; i < terms; ++i)
    gram(i, i) += kRidge * static_cast<double>(samples.size());
  const auto cholesky = perfmodel::Cholesky::of(gram);
  SCAVENGER_CHECK(cholesky);
  std::vector<std::vector<double>> trend(terms, std::vector<double>(bins));
  for (std::size_t b = 0; b < bins; ++b) {
    const std::vector<double> coefficients = cholesky->solve(right[b]);
    for (std::size_t i = 0; i < terms; ++i) trend[i][b] = coefficients[i];
  }
  return trend;
}

// Adds `factor` times the trend at this point.
void add_trend(std::span<const std::vector<double>> trend, std::span<const double> unit,
               double factor, std::vector<double>& profile) {
  for (std::size_t i = 0; i < trend.size(); ++i)
    for (std::size_t b = 0; b < profile.size(); ++b)
      profile[b] += factor * trend[i][b] * (i == 0 ? 1.0 : unit[i - 1]);
}

}  // namespace

// A network is as smooth in each of its inputs. So a parameter over which profiles change n times
// more slowly than over another has an n-th of its range.
std::vector<double> Encoding::inputs(std::span<const double> unit) const {
  std::vector<double> inputs(unit.begin(), unit.end());
  if (!lengths) return inputs;
  const double shortest = std::ranges::min(lengths->lengths());
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] *= shortest / lengths->lengths()[i];
  return inputs;
}

std::vector<double> Encoding::coordinates(std::span<const double> unit,
                                          std::vector<double> profile) const {
  add_trend(trend, unit, -1.0, profile);
  return components.coordinates(profile);
}

std::vector<double> Encoding::profile(std::span<const double> unit,
                                      std::span<const double> coordinates) const {
  std::vector<double> profile = components.profile(coordinates);
  add_trend(trend, unit, 1.0, profile);
  return profile;
}

Encoding encode(const UnitSpace& space, std::span<const Sample> samples,
                const FitSettings& settings) {
  SCAVENGER_CHECK(samples.size() >= 2);
  constexpr double kMostRows = 16.0;
  std::vector<std::vector<double>> profiles, units;
  double shortest = samples.front().steps;
  for (const Sample& sample : samples) {
    profiles.push_back(sample.profile);
    units.push_back(space.to_unit(sample.parameters));
    shortest = std::min(shortest, sample.steps);
  }
  Encoding encoding{space, {}, {}, {}, {}, false, {}};
  if (settings.in_lengths) encoding.lengths = settings.known_lengths;
  if (settings.in_lengths && !encoding.lengths && is_enough(units))
    encoding.lengths.emplace(units, profiles);
  encoding.continues_remainder = settings.continues_remainder && encoding.lengths;
  if (settings.linear_trend) encoding.trend = affine_trend(units, samples);
  for (std::size_t s = 0; s < profiles.size(); ++s)
    add_trend(encoding.trend, units[s], -1.0, profiles[s]);
  encoding.components = principal_components(profiles, {.share = settings.component_share,
                                                        .most = settings.most_components,
                                                        .without_noise = settings.without_noise});
  // Between the error of the profile, to which the last components contribute nothing, and equal
  // weights, which would spend the network on them.
  const std::vector<double>& deviations = encoding.components.deviations;
  for (const double deviation : deviations)
    encoding.output_scales.push_back(std::sqrt(deviation / deviations.front()));
  encoding.set.inputs = samples.front().parameters.size();
  encoding.set.outputs = encoding.components.components();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const std::vector<double> y = encoding.coordinates(units[s], samples[s].profile);
    const auto rows =
        static_cast<int>(std::lround(std::clamp(samples[s].steps / shortest, 1.0, kMostRows)));
    for (int row = 0; row < rows; ++row) {
      for (const double value : encoding.inputs(units[s]))
        encoding.set.x.push_back(static_cast<float>(value));
      for (std::size_t k = 0; k < y.size(); ++k)
        encoding.set.y.push_back(static_cast<float>(y[k] * encoding.output_scales[k]));
    }
  }
  return encoding;
}

}  // namespace scavenger::surrogate
