// Choosing type and count on Scout's table with at most six runs, beside the answers that need no
// model at all, all under one accounting: cost of the choice over that of the best, less one.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "perfmodel/machines/cluster_search.h"
#include "test/unit/perfmodel/machines/machine_tables.h"

namespace scavenger::perfmodel {
namespace {

// Dollars per hour, vCPU and GiB of AWS's list in 2018.
struct ScoutType {
  double dollars = 0.0;
  double cores = 0.0;
  double gib = 0.0;
};
const std::map<std::string, ScoutType> kTypes = {
    {"c4.large", {0.1, 2, 3.75}},    {"c4.xlarge", {0.199, 4, 7.5}},
    {"c4.2xlarge", {0.398, 8, 15}},  {"m4.large", {0.1, 2, 8}},
    {"m4.xlarge", {0.2, 4, 16}},     {"m4.2xlarge", {0.4, 8, 32}},
    {"r4.large", {0.133, 2, 15.25}}, {"r4.xlarge", {0.266, 4, 30.5}},
    {"r4.2xlarge", {0.532, 8, 61}}};

using Cluster = std::pair<std::string, double>;  // type, nodes
using Costs = std::map<Cluster, double>;         // ln dollars of a whole run

std::map<std::string, Costs> scout_costs() {
  std::map<std::string, Costs> jobs;
  for (const TableRow& row : machine_table("scout_multi.csv")) {
    const double nodes = std::stod(row.at("nodes"));
    const double dollars =
        std::stod(row.at("elapsed_s")) / 3600.0 * nodes * kTypes.at(row.at("vm_type")).dollars;
    jobs[row.at("workload") + " " + row.at("framework") + " " + row.at("datasize")]
        [{row.at("vm_type"), nodes}] = std::log(dollars);
  }
  return jobs;
}

double least(const Costs& costs) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [cluster, cost] : costs) best = std::min(best, cost);
  return best;
}

// ---- The answers without a search. ----

Cluster best_on_average(const std::vector<Costs>& stored, const Costs& among) {
  Cluster best;
  double lowest = std::numeric_limits<double>::infinity();
  for (const auto& [cluster, unused] : among) {
    double total = 0.0, count = 0.0;
    for (const Costs& costs : stored)
      if (const auto found = costs.find(cluster); found != costs.end()) {
        total += found->second - least(costs);
        ++count;
      }
    if (count > 0.0 && total / count < lowest) {
      lowest = total / count;
      best = cluster;
    }
  }
  return best;
}

Cluster cheapest_per_hour(const Costs& among) {
  return std::ranges::min_element(among, {},
                                  [](const auto& entry) {
                                    return entry.first.second *
                                           kTypes.at(entry.first.first).dollars;
                                  })
      ->first;
}

Cluster fastest(const Costs& among) {
  return std::ranges::min_element(
             among, {},
             [](const auto& entry) {
               return entry.second -
                      std::log(entry.first.second * kTypes.at(entry.first.first).dollars);
             })
      ->first;
}

// One speed factor per type: the stored jobs' median cost of each cluster relative to that of the
// cluster that was run, which is best on average; it needs no second run.
Cluster by_speed_factor(const std::vector<Costs>& stored, const Costs& among) {
  const Cluster anchor = best_on_average(stored, among);
  std::map<std::string, double> factors;
  for (const auto& [name, type] : kTypes) {
    std::vector<double> ratios;
    for (const Costs& costs : stored)
      if (costs.contains(anchor) && costs.contains({name, anchor.second}))
        ratios.push_back(costs.at({name, anchor.second}) - costs.at(anchor));
    if (!ratios.empty()) factors[name] = median(ratios);
  }
  const auto best = std::ranges::min_element(factors, {}, [](const auto& f) { return f.second; });
  const Cluster found{best->first, anchor.second};
  return among.contains(found) ? found : anchor;
}

// ---- The search with whole runs (cluster_search.h). ----

struct Search {
  double best = std::numeric_limits<double>::infinity();  // ln dollars, of what was run
  std::size_t runs = 0;
};

Search search(const std::vector<Costs>& stored, const Costs& truth, std::size_t most_runs) {
  std::set<Cluster> clusters;
  for (const auto& [cluster, cost] : truth) clusters.insert(cluster);
  for (const Costs& costs : stored)
    for (const auto& [cluster, cost] : costs) clusters.insert(cluster);
  std::vector<ClusterPlace> places;
  std::vector<double> costs_here;
  std::vector<bool> can_be_had;
  std::vector<std::vector<std::optional<double>>> earlier(stored.size());
  for (const Cluster& cluster : clusters) {
    const ScoutType& type = kTypes.at(cluster.first);
    const double memory = std::log(type.gib / type.cores / 4.0);
    places.push_back(
        {{std::log(cluster.second * type.cores / 55.0), std::log(type.cores / 4.0), memory},
         std::log(cluster.second * type.gib)});
    const auto here = truth.find(cluster);
    can_be_had.push_back(here != truth.end());
    costs_here.push_back(here != truth.end() ? here->second : 0.0);
    for (std::size_t j = 0; j < stored.size(); ++j) {
      const auto found = stored[j].find(cluster);
      earlier[j].push_back(found == stored[j].end() ? std::nullopt : std::optional(found->second));
    }
  }
  ClusterSearch model(places, earlier);
  Search state;
  while (state.runs < most_runs) {
    const auto next = model.next(can_be_had);
    if (!next || next->gain < 0.01) break;  // of the cost: nothing is left to be gained
    model.add(next->place, costs_here[next->place]);
    state.best = std::min(state.best, costs_here[next->place]);
    ++state.runs;
  }
  return state;
}

struct Regrets {
  std::vector<double> values;

  double mean() const {
    double total = 0.0;
    for (const double value : values) total += value;
    return total / static_cast<double>(values.size());
  }
  double p90() const {
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    return sorted[static_cast<std::size_t>(0.9 * static_cast<double>(sorted.size() - 1))];
  }
  std::string text(const char* name) const {
    return fmt::format("{:24} median {:5.1f} %  mean {:5.1f} %  p90 {:5.1f} %\n", name,
                       100.0 * median(values), 100.0 * mean(), 100.0 * p90());
  }
};

TEST_CASE("Scout: at most six runs find a cluster near the cheapest", "[tables]") {
  const auto jobs = scout_costs();
  if (jobs.empty()) return;
  Regrets ours, average, cheapest, quickest, factor;
  for (const auto& [name, truth] : jobs) {
    std::vector<Costs> stored;
    for (const auto& [other, costs] : jobs)
      if (other.substr(0, other.find(' ')) != name.substr(0, name.find(' ')))
        stored.push_back(costs);
    const double best = least(truth);
    const auto add = [&](Regrets& to, double cost) {
      to.values.push_back(std::expm1(cost - best));
    };
    const Search found = search(stored, truth, 6);
    CHECK(found.runs <= 6);
    add(ours, found.best);
    add(average, truth.at(best_on_average(stored, truth)));
    add(cheapest, truth.at(cheapest_per_hour(truth)));
    add(quickest, truth.at(fastest(truth)));
    add(factor, truth.at(by_speed_factor(stored, truth)));
  }
  WARN("Scout, cost above the best:\n"
       << ours.text("search, six runs") << average.text("best on average")
       << cheapest.text("cheapest per hour") << quickest.text("fastest")
       << factor.text("one speed factor"));
  CHECK(median(ours.values) < 0.04);
  CHECK(ours.mean() < 0.15);
  CHECK(ours.p90() < 0.25);
  CHECK(ours.mean() < average.mean() + 0.02);
}

}  // namespace
}  // namespace scavenger::perfmodel
