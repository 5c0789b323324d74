#include "campaign/surrogate/informative.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "campaign/surrogate/selection.h"
#include "perfmodel/fit/matrix.h"
#include "runtime/base/check.h"
#include "runtime/base/random.h"

namespace scavenger::surrogate {
namespace {

// Each pair of a candidate and a place has a covariance, which each simulation changes.
constexpr std::size_t kMostCandidates = 1000;
constexpr std::size_t kMostPlaces = 400;

// What is left to be known of some points and of the places, as simulations are added one by one: a
// row of Cholesky's factorisation for each.
class Remaining final {
 public:
  Remaining(const CorrelationOfPoints& process, const std::vector<std::vector<double>>& points,
            const std::vector<std::vector<double>>& places)
      : process_(process),
        points_(points),
        places_(places),
        covariances_(points.size(), places.size()) {
    for (std::size_t i = 0; i < points.size(); ++i)
      for (std::size_t j = 0; j < places.size(); ++j)
        covariances_(i, j) = process.covariance(points[i], places[j]);
    for (const auto& point : points)
      point_columns_.push_back({{}, process.covariance(point, point)});
    for (const auto& place : places)
      place_columns_.push_back({{}, process.covariance(place, place)});
  }

  void simulate(const std::vector<double>& unit) {
    std::vector<double> row;
    for (std::size_t i = 0; i < simulated_.size(); ++i)
      row.push_back((process_.covariance(unit, simulated_[i]) -
                     perfmodel::dot(row, std::span(factor_[i]).first(i))) /
                    factor_[i][i]);
    const double left = process_.covariance(unit, unit) - perfmodel::dot(row, row);
    const double diagonal = std::sqrt(std::max(left, 0.0) + process_.noise());
    extend(point_columns_, points_, unit, row, diagonal);
    extend(place_columns_, places_, unit, row, diagonal);
    for (std::size_t i = 0; i < points_.size(); ++i)
      for (std::size_t j = 0; j < places_.size(); ++j)
        covariances_(i, j) -= point_columns_[i].whitened.back() * place_columns_[j].whitened.back();
    row.push_back(diagonal);
    simulated_.push_back(unit);
    factor_.push_back(std::move(row));
  }

  // The share of what is not known at the place that a simulation of the point takes away.
  double explained(std::size_t point, std::size_t place) const {
    const double common = covariances_(point, place);
    const double of_point = point_columns_[point].variance + process_.noise();
    const double of_place = place_columns_[place].variance + process_.noise();
    return std::min(common * common / (of_point * of_place), 1.0);
  }

 private:
  struct Column {
    std::vector<double> whitened;
    double variance = 0.0;
  };

  void extend(std::vector<Column>& columns, const std::vector<std::vector<double>>& units,
              const std::vector<double>& unit, const std::vector<double>& row, double diagonal) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      Column& column = columns[i];
      const double next =
          (process_.covariance(units[i], unit) - perfmodel::dot(column.whitened, row)) / diagonal;
      column.whitened.push_back(next);
      column.variance = std::max(column.variance - next * next, 0.0);
    }
  }

  const CorrelationOfPoints& process_;
  const std::vector<std::vector<double>>& points_;
  const std::vector<std::vector<double>>& places_;
  perfmodel::Matrix covariances_;  // {points, places}
  std::vector<Column> point_columns_, place_columns_;
  std::vector<std::vector<double>> simulated_, factor_;
};

}  // namespace

std::vector<std::size_t> most_informative(const CorrelationOfPoints& process,
                                          const Unsimulated& points, std::size_t count) {
  SCAVENGER_CHECK(points.places.size() == points.unknown.size());
  const std::size_t candidates = points.candidates.size();
  std::vector<std::vector<double>> all = points.candidates;
  all.insert(all.end(), points.busy.begin(), points.busy.end());
  Remaining remaining(process, all, points.places);
  for (const auto& unit : points.simulated) remaining.simulate(unit);
  std::vector<double> unknown = points.unknown;
  const auto take = [&](std::size_t index) {
    for (std::size_t place = 0; place < unknown.size(); ++place)
      unknown[place] *= 1.0 - remaining.explained(index, place);
    remaining.simulate(all[index]);
  };
  for (std::size_t index = candidates; index < all.size(); ++index) take(index);
  std::vector<bool> is_taken(candidates, false);
  std::vector<std::size_t> chosen;
  while (chosen.size() < std::min(count, candidates)) {
    std::size_t best = 0;
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t index = 0; index < candidates; ++index) {
      if (is_taken[index]) continue;
      double told = 0.0;
      for (std::size_t place = 0; place < unknown.size(); ++place)
        told += unknown[place] * remaining.explained(index, place);
      if (told > most) {
        most = told;
        best = index;
      }
    }
    is_taken[best] = true;
    chosen.push_back(best);
    take(best);
  }
  return chosen;
}

std::vector<std::size_t> next_points(const std::optional<CorrelationOfPoints>& lengths,
                                     const Unsimulated& points, std::size_t count) {
  if (!lengths)
    return most_uncertain(points.candidates, points.scores, points.busy, points.simulated.size(),
                          count);
  std::vector<std::size_t> compared(points.candidates.size());
  std::iota(compared.begin(), compared.end(), 0U);
  if (compared.size() <= kMostCandidates) return most_informative(*lengths, points, count);
  const std::size_t most = std::max(kMostCandidates, count);
  std::ranges::stable_sort(compared, std::greater<>(),
                           [&](std::size_t index) { return points.scores[index]; });
  compared.resize(std::min(most, compared.size()));
  Unsimulated some = points;
  some.candidates.clear();
  for (const std::size_t index : compared) some.candidates.push_back(points.candidates[index]);
  std::vector<std::size_t> chosen = most_informative(*lengths, some, count);
  for (std::size_t& index : chosen) index = compared[index];
  return chosen;
}

std::vector<std::uint32_t> sampled_places(std::size_t points, std::uint64_t seed) {
  RandomStream random(seed, "places");
  auto places = permutation(random, static_cast<std::uint32_t>(points));
  places.resize(std::min(places.size(), kMostPlaces));
  return places;
}

}  // namespace scavenger::surrogate
