#include "perfmodel/machines/cluster_search.h"

#include <algorithm>
#include <boost/math/distributions/gamma.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "perfmodel/fit/expected_saving.h"
#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kStoredWeight = 0.3;  // of the earlier jobs' covariance, beside the smooth one
constexpr double kSmoothVariance = 0.15;
constexpr double kReach = 1.5;          // of the smooth one, in units of the features
constexpr double kLevelVariance = 1e3;  // of what a job costs at all: anything, in any currency
constexpr double kRunSpread = 0.03;     // between two runs of one cluster
constexpr double kCliffProbability = 0.5;
constexpr double kCliffWidth = 0.15;  // of ln(memory)
constexpr double kMostRegret = 5.0;   // counts at most, and for a cluster on which a job fails
constexpr double kScaleWeight = 1.0;  // of the covariance's own scale, in runs
constexpr int kScales = 8;            // that stand for the scale's distribution

double regret_of(const std::optional<double>& cost, double best) {
  return cost ? std::min(std::expm1(std::min(*cost - best, 5.0)), kMostRegret) : kMostRegret;
}

// The midpoints of equally likely parts of a chi-squared variable's distribution.
std::vector<double> chi_squared_parts(double degrees) {
  const boost::math::gamma_distribution<> half(0.5 * degrees);
  std::vector<double> parts;
  for (int i = 0; i < kScales; ++i) parts.push_back(2.0 * quantile(half, (i + 0.5) / kScales));
  return parts;
}

}  // namespace

ClusterSearch::ClusterSearch(std::vector<ClusterPlace> places,
                             const std::vector<std::vector<std::optional<double>>>& stored)
    : places_(std::move(places)),
      regret_(places_.size()),
      mean_(places_.size()),
      covariance_(places_.size(), places_.size()) {
  const std::size_t n = places_.size();
  const auto jobs = static_cast<double>(stored.size());
  const auto fits = [n](const auto& costs) {
    return costs.size() == n && std::ranges::any_of(costs, [](const auto& c) { return !!c; });
  };
  if (stored.empty() || n == 0 || !std::ranges::all_of(stored, fits))
    throw DataError({.what = "no earlier job says what clusters cost",
                     .where = "cluster search",
                     .remedy = "store a job with a cost for each cluster first"});
  Matrix centred(stored.size(), n);
  std::vector<double> known(n, 0.0);
  for (std::size_t j = 0; j < stored.size(); ++j) {
    double best = std::numeric_limits<double>::infinity(), sum = 0.0, count = 0.0;
    for (const auto& cost : stored[j])
      if (cost) {
        best = std::min(best, *cost);
        sum += *cost;
        ++count;
      }
    for (std::size_t i = 0; i < n; ++i) {
      regret_[i] += regret_of(stored[j][i], best) / jobs;
      if (!stored[j][i]) continue;
      centred(j, i) = *stored[j][i] - sum / count;
      mean_[i] += centred(j, i);
      ++known[i];
    }
  }
  for (std::size_t i = 0; i < n; ++i) mean_[i] /= std::max(known[i], 1.0);
  for (std::size_t j = 0; j < stored.size(); ++j)
    for (std::size_t i = 0; i < n; ++i)
      if (stored[j][i]) centred(j, i) -= mean_[i];
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      double shared = 0.0, squares = 0.0;
      for (std::size_t j = 0; j < stored.size(); ++j) shared += centred(j, a) * centred(j, b);
      for (std::size_t f = 0; f < places_[a].features.size(); ++f)
        squares += std::pow(places_[a].features[f] - places_[b].features[f], 2.0);
      covariance_(a, b) =
          kLevelVariance + kStoredWeight * shared / jobs +
          (1.0 - kStoredWeight) * kSmoothVariance * std::exp(-0.5 * squares / (kReach * kReach));
    }
  const auto [least, most] =
      std::ranges::minmax(places_, {}, [](const ClusterPlace& p) { return p.log_memory; });
  cliffs_ = {{1.0 - kCliffProbability, 0.0, 0.0}};
  constexpr int kPositions = 7;
  for (int i = 1; i <= kPositions; ++i)
    for (const double height : {0.5, 1.0, 1.5})
      cliffs_.push_back(
          {kCliffProbability / (3.0 * kPositions),
           least.log_memory + (most.log_memory - least.log_memory) * i / (kPositions + 1.0),
           height});
}

double ClusterSearch::offset(const Cliff& cliff, std::size_t place) const {
  return cliff.height /
         (1.0 + std::exp((places_[place].log_memory - cliff.log_memory) / kCliffWidth));
}

void ClusterSearch::add(std::size_t place, double log_cost) {
  run_.push_back(place);
  costs_.push_back(log_cost);
}

std::optional<ClusterSearch::Next> ClusterSearch::next(const std::vector<bool>& can_be_had) const {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (can_be_had[i] && std::ranges::count(run_, i) == 0) open.push_back(i);
  if (open.empty()) return std::nullopt;
  if (run_.empty())
    return Next{*std::ranges::min_element(open, {}, [this](std::size_t i) { return regret_[i]; }),
                1.0};
  const std::size_t n = run_.size();
  Matrix known(n, n);
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      known(a, b) = covariance_(run_[a], run_[b]) + (a == b ? kRunSpread * kRunSpread : 0.0);
  const Cholesky factor = Cholesky::of(known).value();
  // One run shows the level, the others the scale of all errors; with it, costs are Student's t.
  const double degrees = kScaleWeight + static_cast<double>(n) - 1.0;
  std::vector<std::vector<double>> weights;  // by cliff
  std::vector<double> squares, log_plausibility;
  for (const Cliff& cliff : cliffs_) {
    std::vector<double> residual(n);
    for (std::size_t a = 0; a < n; ++a)
      residual[a] = costs_[a] - mean_[run_[a]] - offset(cliff, run_[a]);
    weights.push_back(factor.solve(residual));
    squares.push_back(kScaleWeight + dot(residual, weights.back()));
    log_plausibility.push_back(std::log(cliff.plausibility) -
                               0.5 * degrees * std::log(squares.back()));
  }
  const double top = *std::ranges::max_element(log_plausibility);
  double total = 0.0;
  for (const double one : log_plausibility) total += std::exp(one - top);
  const double best = *std::ranges::min_element(costs_);
  const std::vector<double> parts = chi_squared_parts(degrees);
  Next next{open.front(), -1.0};
  for (const std::size_t i : open) {
    std::vector<double> row(n);
    for (std::size_t a = 0; a < n; ++a) row[a] = covariance_(run_[a], i);
    const std::vector<double> white = factor.whiten(row);
    const double variance =
        std::max(1e-9, covariance_(i, i) - dot(white, white)) + kRunSpread * kRunSpread;
    double gain = 0.0;
    for (std::size_t c = 0; c < cliffs_.size(); ++c) {
      const double mean = mean_[i] + offset(cliffs_[c], i) + dot(row, weights[c]);
      const double share = std::exp(log_plausibility[c] - top) / total / kScales;
      for (const double part : parts)
        gain += share * expected_saving(mean - best, std::sqrt(variance * squares[c] / part));
    }
    if (gain > next.gain) next = {i, gain};
  }
  return next;
}

}  // namespace scavenger::perfmodel
