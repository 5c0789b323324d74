#include "campaign/space/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace scavenger::campaign {
namespace {

// 4 + 3 * 0.2 is 4.6000000000000005, and somebody who wrote 0.2 means 4.6.
double without_rounding(double value) {
  return std::strtod(fmt::format("{:.12g}", value).c_str(), nullptr);
}

// From 0, the smallest, to 1, the largest.
std::vector<double> scaled(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  std::vector<double> result;
  for (const double value : values)
    result.push_back(most > least ? (value - least) / (most - least) : 0.0);
  return result;
}

}  // namespace

std::string number_text(double number) {
  return fmt::format("{}", number);
}

std::vector<double> values_of(const ParameterConfig& parameter) {
  if (parameter.range.empty()) return parameter.values;
  const double first = parameter.range[0];
  const auto steps = static_cast<std::size_t>((parameter.range[1] - first) / parameter.step + 1e-9);
  std::vector<double> values;
  for (std::size_t i = 0; i <= steps; ++i) {
    const double value = first + static_cast<double>(i) * parameter.step;
    // -0.3 + 3 * 0.1 is 5.55e-17, and means 0.
    const bool is_zero = std::abs(value) < 1e-9 * parameter.step;
    values.push_back(is_zero ? 0.0 : without_rounding(value));
  }
  return values;
}

bool is_space_small_enough(const NamedParameters& parameters) {
  std::size_t size = 1;
  for (const auto& [name, parameter] : parameters) {
    size *= values_of(parameter).size();
    if (size > kMostPoints) return false;
  }
  return true;
}

Space::Space(const NamedParameters& parameters) {
  for (const auto& [name, parameter] : parameters) {
    names_.push_back(name);
    values_.push_back(values_of(parameter));
    unit_values_.push_back(scaled(values_.back()));
    size_ *= values_.back().size();
  }
  std::size_t stride = size_;
  for (const std::vector<double>& values : values_) strides_.push_back(stride /= values.size());
}

std::vector<double> Space::values_at(PointIndex point) const {
  return at(values_, point);
}

std::vector<double> Space::unit_values_at(PointIndex point) const {
  return at(unit_values_, point);
}

double Space::sqr_distance(PointIndex one, PointIndex other) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < strides_.size(); ++i) {
    const double difference =
        unit_values_[i][place_of(one, i)] - unit_values_[i][place_of(other, i)];
    sum += difference * difference;
  }
  return sum;
}

std::size_t Space::place_of(PointIndex point, std::size_t parameter) const {
  return point / strides_[parameter] % values_[parameter].size();
}

std::vector<double> Space::at(const std::vector<std::vector<double>>& values,
                              PointIndex point) const {
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i) result.push_back(values[i][place_of(point, i)]);
  return result;
}

std::string Space::text_at(PointIndex point) const {
  const std::vector<double> values = values_at(point);
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i)
    text += fmt::format("{}{}={}", i == 0 ? "" : ", ", names_[i], number_text(values[i]));
  return text;
}

}  // namespace scavenger::campaign
