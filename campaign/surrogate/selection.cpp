#include "campaign/surrogate/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "campaign/surrogate/sample.h"
#include "runtime/base/check.h"
#include "runtime/base/random.h"

namespace scavenger::surrogate {
namespace {

// Takes the candidate with the highest score `count` times; `update` changes the scores after each.
// Of equal scores the first wins, so that the choice is the same everywhere.
template <class Update>
std::vector<std::size_t> take_highest(std::vector<double>& scores, std::size_t count,
                                      const Update& update) {
  std::vector<std::size_t> chosen;
  while (chosen.size() < std::min(count, scores.size())) {
    const auto best = static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
    chosen.push_back(best);
    update(best);
    scores[best] = -std::numeric_limits<double>::infinity();
  }
  return chosen;
}

// Coordinates in which the points differ; at least 1.
double varying_dimensions(std::span<const std::vector<double>> points) {
  double dimensions = 0.0;
  for (std::size_t i = 0; i < points.front().size(); ++i)
    if (std::ranges::any_of(points, [&](const auto& one) { return one[i] != points.front()[i]; }))
      dimensions += 1.0;
  return std::max(dimensions, 1.0);
}

}  // namespace

std::vector<std::size_t> most_uncertain(std::span<const std::vector<double>> candidates,
                                        std::span<const double> uncertainties,
                                        const std::vector<std::vector<double>>& busy,
                                        std::size_t simulated, std::size_t count) {
  SCAVENGER_CHECK(candidates.size() == uncertainties.size());
  if (candidates.empty()) return {};
  const double dimensions = varying_dimensions(candidates);
  const double spacing =
      2.0 / std::pow(static_cast<double>(std::max<std::size_t>(simulated, 1)), 1.0 / dimensions);
  const double length = 0.5 * spacing;
  std::vector<double> scores(uncertainties.begin(), uncertainties.end());
  const auto damp = [&](std::span<const double> point) {
    for (std::size_t i = 0; i < scores.size(); ++i)
      if (std::isfinite(scores[i]))
        scores[i] *= -std::expm1(-squared_distance(candidates[i], point) / (2.0 * length * length));
  };
  for (const std::vector<double>& point : busy) damp(point);
  return take_highest(scores, count, [&](std::size_t taken) { damp(candidates[taken]); });
}

std::vector<std::size_t> worth_lengthening(std::span<const double> statistical_variances,
                                           std::span<const double> variances, double new_variance) {
  std::vector<std::size_t> worth;
  for (std::size_t i = 0; i < variances.size(); ++i)
    if (statistical_variances[i] > variances[i] && 0.5 * statistical_variances[i] > new_variance)
      worth.push_back(i);
  std::ranges::stable_sort(worth, std::greater<>(),
                           [&](std::size_t i) { return statistical_variances[i]; });
  return worth;
}

std::vector<std::size_t> space_filling(std::span<const std::vector<double>> candidates,
                                       const std::vector<std::vector<double>>& taken,
                                       std::uint64_t seed, std::size_t count) {
  if (candidates.empty()) return {};
  std::vector<double> nearest(candidates.size(), std::numeric_limits<double>::max());
  const auto take = [&](std::span<const double> point) {
    for (std::size_t i = 0; i < nearest.size(); ++i)
      nearest[i] = std::min(nearest[i], squared_distance(candidates[i], point));
  };
  for (const std::vector<double>& point : taken) take(point);
  if (taken.empty()) {
    RandomStream random(seed, "space-filling");
    nearest[random.below(candidates.size())] = std::numeric_limits<double>::infinity();
  }
  return take_highest(nearest, count, [&](std::size_t index) { take(candidates[index]); });
}

}  // namespace scavenger::surrogate
