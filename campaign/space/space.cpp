#include "campaign/space/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace scavenger::campaign {
namespace {

// 4 + 3 * 0.2 is 4.6000000000000005, and somebody who wrote 0.2 means 4.6.
double without_rounding(double value) {
  return std::stod(fmt::format("{:.12g}", value));
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
  for (std::size_t i = 0; i <= steps; ++i)
    values.push_back(without_rounding(first + static_cast<double>(i) * parameter.step));
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
    size_ *= values_.back().size();
  }
}

std::vector<double> Space::values_at(PointIndex point) const {
  std::vector<double> result(values_.size());
  std::size_t rest = point;
  for (std::size_t i = values_.size(); i-- > 0;) {
    result[i] = values_[i][rest % values_[i].size()];
    rest /= values_[i].size();
  }
  return result;
}

std::vector<double> Space::unit_values_at(PointIndex point) const {
  std::vector<double> result = values_at(point);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto [least, most] = std::ranges::minmax(values_[i]);
    result[i] = most > least ? (result[i] - least) / (most - least) : 0.0;
  }
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
