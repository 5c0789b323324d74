#include "campaign/surrogate/training.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace scavenger::surrogate {
namespace {

constexpr double kRidge = 1e-6;

// Solves the symmetric positive definite system in place: `right` becomes the solution.
void solve(std::vector<std::vector<double>>& matrix, std::vector<std::vector<double>>& right) {
  const std::size_t n = matrix.size();
  const auto subtract = [](std::vector<double>& from, const std::vector<double>& row,
                           double factor) {
    for (std::size_t i = 0; i < from.size(); ++i) from[i] -= factor * row[i];
  };
  for (std::size_t pivot = 0; pivot < n; ++pivot)
    for (std::size_t row = 0; row < n; ++row) {
      if (row == pivot) continue;
      const double factor = matrix[row][pivot] / matrix[pivot][pivot];
      subtract(matrix[row], matrix[pivot], factor);
      subtract(right[row], right[pivot], factor);
    }
  for (std::size_t row = 0; row < n; ++row)
    for (double& value : right[row]) value /= matrix[row][row];
}

// The affine function of the parameters in [-1, 1] that has the least squared error. Nothing, if
// there are fewer than two samples for each of its coefficients.
std::vector<std::vector<double>> affine_trend(std::span<const std::vector<double>> units,
                                              std::span<const Sample> samples) {
  const std::size_t terms = 1 + units.front().size();
  if (samples.size() < 2 * terms) return {};
  const std::size_t bins = samples.front().profile.size();
  std::vector<std::vector<double>> matrix(terms, std::vector<double>(terms));
  std::vector<std::vector<double>> trend(terms, std::vector<double>(bins));
  for (std::size_t s = 0; s < samples.size(); ++s) {
    std::vector<double> row{1.0};
    row.insert(row.end(), units[s].begin(), units[s].end());
    for (std::size_t i = 0; i < terms; ++i) {
      for (std::size_t j = 0; j < terms; ++j) matrix[i][j] += row[i] * row[j];
      for (std::size_t b = 0; b < bins; ++b) trend[i][b] += row[i] * samples[s].profile[b];
    }
  }
  // A parameter that has one value only has no slope.
  for (std::size_t i = 0; i < terms; ++i)
    matrix[i][i] += kRidge * static_cast<double>(samples.size());
  solve(matrix, trend);
  return trend;
}

}  // namespace

std::vector<double> Encoding::profile(std::span<const double> unit,
                                      std::span<const double> coordinates) const {
  std::vector<double> profile = components.profile(coordinates);
  for (std::size_t i = 0; i < trend.size(); ++i)
    for (std::size_t b = 0; b < profile.size(); ++b)
      profile[b] += trend[i][b] * (i == 0 ? 1.0 : unit[i - 1]);
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
  Encoding encoding{space, {}, {}, {}, {}};
  if (settings.linear_trend) encoding.trend = affine_trend(units, samples);
  for (std::size_t s = 0; s < profiles.size(); ++s)
    for (std::size_t i = 0; i < encoding.trend.size(); ++i)
      for (std::size_t b = 0; b < profiles[s].size(); ++b)
        profiles[s][b] -= encoding.trend[i][b] * (i == 0 ? 1.0 : units[s][i - 1]);
  encoding.components =
      principal_components(profiles, settings.component_share, settings.most_components);
  // Between the error of the profile, to which the last components contribute nothing, and equal
  // weights, which would spend the network on them.
  const std::vector<double>& deviations = encoding.components.deviations;
  for (const double deviation : deviations)
    encoding.output_scales.push_back(std::sqrt(deviation / deviations.front()));
  encoding.set.inputs = samples.front().parameters.size();
  encoding.set.outputs = encoding.components.components();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const std::vector<double> y = encoding.components.coordinates(profiles[s]);
    const auto rows =
        static_cast<int>(std::lround(std::clamp(samples[s].steps / shortest, 1.0, kMostRows)));
    for (int row = 0; row < rows; ++row) {
      for (const double value : units[s]) encoding.set.x.push_back(static_cast<float>(value));
      for (std::size_t k = 0; k < y.size(); ++k)
        encoding.set.y.push_back(static_cast<float>(y[k] * encoding.output_scales[k]));
    }
  }
  return encoding;
}

}  // namespace scavenger::surrogate
