// How clusters are chosen, from nothing but a table's own prices up to a search.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "test/unit/perfmodel/machines/choice_tables.h"
#include "test/unit/perfmodel/machines/machine_tables.h"

namespace scavenger::perfmodel {
namespace {

template <typename Key>
Cluster least_by(const ClusterRuns& truth, Key key) {
  return std::ranges::min_element(truth, {}, [&](const auto& entry) { return key(entry.second); })
      ->first;
}

// Mean regret over the stored jobs, of clusters that this job can have.
std::map<Cluster, double> mean_regrets(const std::vector<ClusterRuns>& stored,
                                       const ClusterRuns& among) {
  std::map<Cluster, double> regrets;
  for (const auto& [cluster, unused] : among) {
    double total = 0.0, count = 0.0;
    for (const ClusterRuns& runs : stored)
      if (const auto found = runs.find(cluster); found != runs.end()) {
        total += found->second.log_cost - least_cost(runs);
        ++count;
      }
    if (count > 0.0) regrets[cluster] = total / count;
  }
  return regrets;
}

}  // namespace

double least_cost(const ClusterRuns& runs) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [cluster, run] : runs) best = std::min(best, run.log_cost);
  return best;
}

Choice choose_best_on_average(const std::vector<ClusterRuns>& stored, const ClusterRuns& truth) {
  const auto regrets = mean_regrets(stored, truth);
  return {{}, std::ranges::min_element(regrets, {}, [](const auto& r) { return r.second; })->first};
}

Choice choose_cheapest_per_hour(const ClusterRuns& truth) {
  return {{}, least_by(truth, [](const WholeRun& r) { return r.log_cost - r.log_seconds; })};
}

Choice choose_fastest(const ClusterRuns& truth) {
  return {{}, least_by(truth, [](const WholeRun& r) { return r.log_seconds; })};
}

Choice choose_by_speed_factor(const std::vector<ClusterRuns>& stored, const ClusterRuns& truth) {
  const Cluster anchor = choose_best_on_average(stored, truth).used;
  Cluster best = anchor;
  double least = 0.0;
  for (const auto& [cluster, unused] : truth) {
    if (cluster.nodes != anchor.nodes) continue;
    std::vector<double> ratios;
    for (const ClusterRuns& runs : stored)
      if (runs.contains(anchor) && runs.contains(cluster))
        ratios.push_back(runs.at(cluster).log_cost - runs.at(anchor).log_cost);
    if (ratios.empty() || median(ratios) >= least) continue;
    least = median(ratios);
    best = cluster;
  }
  return {{}, best};
}

Choice choose_by_two_sizes(const std::vector<ClusterRuns>& stored, const ClusterRuns& truth) {
  std::map<std::string, double> by_type;  // least mean regret
  for (const auto& [cluster, regret] : mean_regrets(stored, truth)) {
    const auto [found, is_new] = by_type.emplace(cluster.type, regret);
    found->second = std::min(found->second, regret);
  }
  std::vector<std::pair<double, std::string>> types;
  for (const auto& [type, regret] : by_type) types.emplace_back(regret, type);
  std::ranges::sort(types);
  constexpr std::size_t kTypes = 3;
  types.resize(std::min(types.size(), kTypes));
  Choice choice;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [regret, type] : types) {
    ClusterRuns own;
    std::ranges::copy_if(truth, std::inserter(own, own.end()),
                         [&](const auto& entry) { return entry.first.type == type; });
    const auto& [small, few] = *own.begin();
    const auto& [large, many] = *own.rbegin();
    choice.run.push_back(small);
    if (large != small) choice.run.push_back(large);
    const double at_few = std::exp(few.log_seconds), at_many = std::exp(many.log_seconds);
    const double width = 1.0 / small.nodes - 1.0 / large.nodes;
    const double slope = width > 0.0 ? std::max(0.0, (at_few - at_many) / width) : 0.0;
    const double base = std::max(0.0, at_many - slope / large.nodes);
    const double per_node = std::exp(few.log_cost - few.log_seconds) / small.nodes;
    for (const auto& [cluster, unused] : own) {
      const double cost = (base + slope / cluster.nodes) * cluster.nodes * per_node;
      if (cost >= least) continue;
      least = cost;
      choice.used = cluster;
    }
  }
  return choice;
}

Choice choose_at_random(const ClusterRuns& truth, std::size_t runs, unsigned seed) {
  std::vector<Cluster> clusters;
  for (const auto& [cluster, unused] : truth) clusters.push_back(cluster);
  std::ranges::shuffle(clusters, std::mt19937(seed));
  clusters.resize(std::min(clusters.size(), runs));
  const auto cost = [&](const Cluster& cluster) { return truth.at(cluster).log_cost; };
  return {clusters, *std::ranges::min_element(clusters, {}, cost)};
}

Choice choose_by_search(const ChoiceTable& table, const std::vector<ClusterRuns>& stored,
                        const ClusterRuns& truth, std::size_t most_runs) {
  std::set<Cluster> clusters;
  for (const auto& [cluster, run] : truth) clusters.insert(cluster);
  for (const ClusterRuns& runs : stored)
    for (const auto& [cluster, run] : runs) clusters.insert(cluster);
  const std::vector<Cluster> all(clusters.begin(), clusters.end());
  std::vector<ClusterPlace> places;
  std::vector<bool> can_be_had;
  std::vector<std::vector<std::optional<double>>> earlier(stored.size());
  for (const Cluster& cluster : all) {
    places.push_back(table.places.at(cluster));
    can_be_had.push_back(truth.contains(cluster));
    for (std::size_t j = 0; j < stored.size(); ++j) {
      const auto found = stored[j].find(cluster);
      earlier[j].push_back(found == stored[j].end() ? std::nullopt
                                                    : std::optional(found->second.log_cost));
    }
  }
  ClusterSearch search(places, earlier);
  Choice choice;
  while (choice.run.size() < most_runs) {
    const auto next = search.next(can_be_had);
    if (!next || next->gain < 0.01) break;  // of the cost: nothing is left to be gained
    const Cluster& cluster = all[next->place];
    const double cost = truth.at(cluster).log_cost;
    search.add(next->place, cost);
    if (choice.run.empty() || cost < truth.at(choice.used).log_cost) choice.used = cluster;
    choice.run.push_back(cluster);
  }
  return choice;
}

Choice choose_knowing_all(const ClusterRuns& truth) {
  return {{}, least_by(truth, [](const WholeRun& r) { return r.log_cost; })};
}

}  // namespace scavenger::perfmodel
