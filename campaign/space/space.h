// The points of a parameter space: one for each combination of values. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "campaign/config/campaign_config.h"

namespace scavenger::campaign {

inline constexpr std::size_t kMostPoints = 1'000'000;

// A point's place in the space: its first parameter changes slowest.
using PointIndex = std::uint32_t;

using NamedParameters = std::vector<std::pair<std::string, ParameterConfig>>;

// All values of a parameter, in the order of the document. The last value of a range is in it if it
// is a whole number of steps from the first, up to rounding.
std::vector<double> values_of(const ParameterConfig& parameter);

// Whether the space has at most kMostPoints points. Does not make them.
bool is_space_small_enough(const NamedParameters& parameters);

class Space final {
 public:
  explicit Space(const NamedParameters& parameters);

  std::size_t size() const { return size_; }
  const std::vector<std::string>& names() const { return names_; }
  // The value of each parameter.
  std::vector<double> values_at(PointIndex point) const;
  // The same, each from 0 (its smallest) to 1 (its largest); 0 if a parameter has one value.
  std::vector<double> unit_values_at(PointIndex point) const;
  // The squared distance of two points by these values.
  double sqr_distance(PointIndex one, PointIndex other) const;
  // "Z=4.2, c=0.5", with as many digits as the numbers need.
  std::string text_at(PointIndex point) const;

 private:
  std::size_t place_of(PointIndex point, std::size_t parameter) const;
  std::vector<double> at(const std::vector<std::vector<double>>& values, PointIndex point) const;

  std::vector<std::string> names_;
  std::vector<std::vector<double>> values_;       // by parameter
  std::vector<std::vector<double>> unit_values_;  // likewise
  std::vector<std::size_t> strides_;              // from one value of a parameter to the next
  std::size_t size_ = 1;
};

// A number with as many digits as it needs.
std::string number_text(double number);

}  // namespace scavenger::campaign
