#include "campaign/surrogate/profile_places.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "perfmodel/fit/least_squares.h"
#include "runtime/base/check.h"

namespace scavenger::surrogate {
namespace {

// A coordinate that all profiles share has no slope: this weight on "no slope" makes it 0, and
// changes the others by less than they are rounded by.
constexpr double kFlatness = 1e-12;
constexpr double kLargestMisfit = 1e-3;  // of the extent of a profile

std::vector<double> with_intercept(std::span<const double> point) {
  std::vector<double> row(point.begin(), point.end());
  row.push_back(1.0);
  return row;
}

double extent(std::span<const double> places) {
  const auto [low, high] = std::ranges::minmax(places);
  return high - low;
}

}  // namespace

ProfilePlaces::ProfilePlaces(UnitSpace space, std::span<const std::vector<double>> parameters,
                             std::vector<std::vector<double>> places)
    : space_(std::move(space)), places_(std::move(places)) {
  SCAVENGER_CHECK(!places_.empty() && parameters.size() == places_.size());
  for (const std::vector<double>& one : parameters) points_.push_back(space_.to_unit(one));
  are_fixed_ =
      std::ranges::all_of(places_, [this](const auto& one) { return one == places_.front(); });
  if (!are_fixed_) fit();
}

void ProfilePlaces::fit() {
  const std::size_t profiles = points_.size(), dimensions = points_.front().size();
  perfmodel::Matrix rows(profiles + dimensions, dimensions + 1);
  std::vector<double> weights(profiles, 1.0);
  weights.resize(profiles + dimensions, kFlatness);
  for (std::size_t i = 0; i < profiles; ++i)
    std::ranges::copy(with_intercept(points_[i]), rows.row(i).begin());
  for (std::size_t j = 0; j < dimensions; ++j) rows(profiles + j, j) = 1.0;
  std::vector<std::vector<double>> coefficients;
  for (std::size_t place = 0; place < this->rows(); ++place) {
    std::vector<double> x(profiles + dimensions, 0.0);
    for (std::size_t i = 0; i < profiles; ++i) x[i] = places_[i].at(place);
    const perfmodel::LinearFit line = perfmodel::least_squares(rows, x, weights);
    for (std::size_t i = 0; i < profiles; ++i)
      if (std::abs(line.predict(rows.row(i)) - x[i]) > kLargestMisfit * extent(places_[i])) return;
    coefficients.push_back(line.coefficients);
  }
  coefficients_ = std::move(coefficients);
}

std::vector<double> ProfilePlaces::at(std::span<const double> parameters) const {
  if (are_fixed_) return places_.front();
  const std::vector<double> point = space_.to_unit(parameters);
  if (coefficients_.empty()) {
    const auto distance = [&](const auto& other) { return squared_distance(other, point); };
    const auto nearest = std::ranges::min_element(points_, {}, distance);
    return places_[static_cast<std::size_t>(nearest - points_.begin())];
  }
  const std::vector<double> row = with_intercept(point);
  std::vector<double> places;
  for (const std::vector<double>& line : coefficients_) places.push_back(perfmodel::dot(line, row));
  return places;
}

}  // namespace scavenger::surrogate
