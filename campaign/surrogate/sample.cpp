#include "campaign/surrogate/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace scavenger::surrogate {
namespace {

bool is_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

}  // namespace

std::optional<std::string> fault_of(const Sample& sample, std::size_t parameters,
                                    std::size_t bins) {
  if (sample.parameters.size() != parameters)
    return fmt::format("has {} parameters instead of {}", sample.parameters.size(), parameters);
  if (sample.profile.empty()) return "has an empty profile";
  if (bins > 0 && sample.profile.size() != bins)
    return fmt::format("has {} bins instead of {}", sample.profile.size(), bins);
  if (!sample.errors.empty() && sample.errors.size() != sample.profile.size())
    return fmt::format("has {} error bars for {} bins", sample.errors.size(),
                       sample.profile.size());
  if (!is_finite(sample.parameters)) return "has a parameter that is not a number";
  if (!is_finite(sample.profile)) return "has a value that is not a number";
  if (!is_finite(sample.errors)) return "has an error bar that is not a number";
  if (std::ranges::any_of(sample.errors, [](double error) { return error < 0.0; }))
    return "has a negative error bar";
  if (!(sample.steps > 0.0) || !std::isfinite(sample.steps)) return "has no steps";
  return std::nullopt;
}

double statistical_variance(const Sample& sample) {
  if (sample.errors.empty()) return 0.0;
  double sum = 0.0;
  for (const double error : sample.errors) sum += error * error;
  return sum / static_cast<double>(sample.errors.size());
}

UnitSpace::UnitSpace(std::span<const std::vector<double>> points) {
  SCAVENGER_CHECK(!points.empty());
  low_ = high_ = points.front();
  for (const std::vector<double>& point : points) {
    SCAVENGER_CHECK(point.size() == low_.size());
    for (std::size_t i = 0; i < point.size(); ++i) {
      low_[i] = std::min(low_[i], point[i]);
      high_[i] = std::max(high_[i], point[i]);
    }
  }
}

std::vector<double> UnitSpace::to_unit(std::span<const double> parameters) const {
  SCAVENGER_CHECK(parameters.size() == low_.size());
  std::vector<double> unit(parameters.size(), 0.0);
  for (std::size_t i = 0; i < unit.size(); ++i)
    if (high_[i] > low_[i]) unit[i] = 2.0 * (parameters[i] - low_[i]) / (high_[i] - low_[i]) - 1.0;
  return unit;
}

bool UnitSpace::contains(std::span<const double> parameters) const {
  if (parameters.size() != low_.size()) return false;
  for (std::size_t i = 0; i < low_.size(); ++i) {
    const double slack = 1e-9 * (high_[i] - low_[i]);
    if (!(parameters[i] >= low_[i] - slack && parameters[i] <= high_[i] + slack)) return false;
  }
  return true;
}

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace scavenger::surrogate
