// Choosing type and count on tables that others measured, beside the answers that need no model at
// all, in one table and under one accounting: what was spent on runs before, in runs of the best
// cluster, and the cost of the cluster that is used in the end over that of the best, less one.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>
#include <utility>

#include "test/unit/perfmodel/machines/choice_tables.h"
#include "test/unit/perfmodel/machines/machine_tables.h"

namespace scavenger::perfmodel {
namespace {

constexpr std::size_t kMostRuns = 6;

struct Regrets {
  std::vector<double> values;
  double spent = 0.0;  // sum over the jobs, in runs of the best cluster

  void add(const Choice& choice, const ClusterRuns& truth) {
    const double best = least_cost(truth);
    values.push_back(std::expm1(truth.at(choice.used).log_cost - best));
    for (const Cluster& cluster : choice.run) spent += std::exp(truth.at(cluster).log_cost - best);
  }
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
  std::string text(const std::string& table, const std::string& name) const {
    return fmt::format("| {} | {} | {:.1f} | {:.1f} % | {:.1f} % | {:.1f} % |\n", table, name,
                       spent / static_cast<double>(values.size()), 100.0 * median(values),
                       100.0 * mean(), 100.0 * p90());
  }
};

// Of one table, by the name of the way to choose.
std::map<std::string, Regrets> regrets_of(const ChoiceTable& table) {
  std::map<std::string, Regrets> all;
  for (const auto& [name, truth] : table.jobs) {
    const std::vector<ClusterRuns> stored = table.stored_for(name);
    const Choice found = choose_by_search(table, stored, truth, kMostRuns);
    CHECK(found.run.size() <= kMostRuns);
    all["search, at most 6 runs"].add(found, truth);
    all["best on average"].add(choose_best_on_average(stored, truth), truth);
    all["cheapest per hour"].add(choose_cheapest_per_hour(truth), truth);
    all["cheapest core"].add(choose_cheapest_core(table, truth), truth);
    for (const bool by_cost : {false, true})
      all[by_cost ? "Gaussian process, gain per cost, 6 runs" : "Gaussian process, 6 runs"].add(
          choose_by_plain_search(table, truth, kMostRuns, by_cost), truth);
    all["fastest"].add(choose_fastest(truth), truth);
    all["one speed factor per type"].add(choose_by_speed_factor(stored, truth), truth);
    all["a + b / nodes, 6 runs"].add(choose_by_two_sizes(stored, truth), truth);
    for (unsigned seed = 1; seed <= 15; ++seed) {
      all["one at random"].add({{}, choose_at_random(truth, 1, seed).used}, truth);
      all["best of 6 at random"].add(choose_at_random(truth, kMostRuns, seed), truth);
    }
    all["knowing all"].add(choose_knowing_all(truth), truth);
  }
  return all;
}

TEST_CASE("At most six runs find a cluster near the cheapest, beside choices without a model",
          "[tables]") {
  std::string text =
      "\n| table | choice | spent | median | mean | p90 |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const ChoiceTable& table : choice_tables()) {
    const auto all = regrets_of(table);
    for (const auto& [name, regrets] : all)
      text += regrets.text(fmt::format("{}, {} jobs", table.name, table.jobs.size()), name);
    const Regrets& ours = all.at("search, at most 6 runs");
    CHECK(ours.mean() < all.at("best on average").mean() + 0.02);
    CHECK(all.at("knowing all").mean() == 0.0);
    CHECK(median(ours.values) < 0.04);
    CHECK(ours.mean() < 0.15);
    CHECK(ours.p90() < 0.25);
  }
  std::cout << text;
}

}  // namespace
}  // namespace scavenger::perfmodel
