// Choices from the catalogue alone, and by a search that knows nothing of other jobs.
#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "perfmodel/fit/matrix.h"
#include "test/unit/perfmodel/machines/choice_tables.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kVariance = 0.15;      // of ln(cost), between distant clusters
constexpr double kReach = 1.5;          // in units of the features
constexpr double kLevelVariance = 4.0;  // of what a job costs at all
constexpr double kNoise = 0.03;
constexpr std::size_t kFirstRuns = 3;

double covariance(const ClusterPlace& a, const ClusterPlace& b) {
  double squares = 0.0;
  for (std::size_t f = 0; f < a.features.size(); ++f)
    squares += std::pow(a.features[f] - b.features[f], 2.0);
  return kLevelVariance + kVariance * std::exp(-0.5 * squares / (kReach * kReach));
}

// ln(cost) at a place that was not run: mean and standard deviation.
struct Guess {
  double mean = 0.0;
  double spread = 0.0;
};

std::vector<Guess> guesses(const std::vector<ClusterPlace>& places,
                           const std::vector<std::size_t>& run, const std::vector<double>& costs) {
  const std::size_t n = run.size();
  double level = 0.0;
  for (const double cost : costs) level += cost / static_cast<double>(n);
  Matrix known(n, n);
  std::vector<double> residuals;
  for (std::size_t a = 0; a < n; ++a) {
    residuals.push_back(costs[a] - level);
    for (std::size_t b = 0; b < n; ++b)
      known(a, b) = covariance(places[run[a]], places[run[b]]) + (a == b ? kNoise * kNoise : 0.0);
  }
  const Cholesky factor = Cholesky::of(known).value();
  const std::vector<double> weights = factor.solve(residuals);
  std::vector<Guess> all;
  for (const ClusterPlace& place : places) {
    std::vector<double> row;
    for (const std::size_t index : run) row.push_back(covariance(place, places[index]));
    const std::vector<double> white = factor.whiten(row);
    all.push_back({level + dot(row, weights),
                   std::sqrt(std::max(1e-9, covariance(place, place) - dot(white, white)))});
  }
  return all;
}

// E[max(0, best - x)] of a normal x.
double expected_improvement(double best, const Guess& guess) {
  const boost::math::normal normal;
  const double z = (best - guess.mean) / guess.spread;
  return guess.spread * (z * cdf(normal, z) + pdf(normal, z));
}

}  // namespace

Choice choose_cheapest_core(const ChoiceTable& table, const ClusterRuns& truth) {
  const auto key = [&](const auto& entry) {
    const auto& [cluster, run] = entry;
    const double per_vm = std::exp(run.log_cost - run.log_seconds) * 3600.0 / cluster.nodes;
    const double per_core = per_vm / std::exp(table.places.at(cluster).features[1]);
    return std::pair(std::round(per_core * 100.0), cluster.nodes);  // list prices are rounded
  };
  return {{}, std::ranges::min_element(truth, {}, key)->first};
}

Choice choose_by_plain_search(const ChoiceTable& table, const ClusterRuns& truth,
                              std::size_t most_runs, bool by_cost) {
  std::vector<Cluster> clusters;
  std::vector<ClusterPlace> places;
  for (const auto& [cluster, run] : truth) {
    clusters.push_back(cluster);
    places.push_back(table.places.at(cluster));
  }
  std::vector<std::size_t> run;
  std::vector<double> costs;
  Choice choice;
  while (run.size() < std::min(most_runs, clusters.size())) {
    std::size_t next = run.size() * (clusters.size() - 1) / (kFirstRuns - 1);
    if (run.size() >= kFirstRuns) {
      const double best = *std::ranges::min_element(costs);
      const std::vector<Guess> all = guesses(places, run, costs);
      double most = -1.0;
      for (std::size_t i = 0; i < clusters.size(); ++i) {
        if (std::ranges::count(run, i) > 0) continue;
        const double gain =
            expected_improvement(best, all[i]) / (by_cost ? std::exp(all[i].mean) : 1.0);
        if (gain <= most) continue;
        most = gain;
        next = i;
      }
    }
    const double cost = truth.at(clusters[next]).log_cost;
    if (run.empty() || cost < *std::ranges::min_element(costs)) choice.used = clusters[next];
    run.push_back(next);
    costs.push_back(cost);
    choice.run.push_back(clusters[next]);
  }
  return choice;
}

}  // namespace scavenger::perfmodel
