// Whole runs of jobs on clusters of different types and sizes, measured by others, and what is
// chosen from them with and without a search. All choices are accounted for alike: the runs that
// were spent, and the cost of the cluster that is used in the end.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "perfmodel/machines/cluster_search.h"

namespace scavenger::perfmodel {

struct Cluster {
  std::string type;
  double nodes = 0.0;
  std::partial_ordering operator<=>(const Cluster&) const = default;
  bool operator==(const Cluster&) const = default;
};

struct WholeRun {
  double log_cost = 0.0;     // ln dollars
  double log_seconds = 0.0;  // ln
};
using ClusterRuns = std::map<Cluster, WholeRun>;

struct ChoiceTable {
  std::string name;
  std::map<std::string, ClusterRuns> jobs;
  std::map<std::string, std::string> programs;  // by job; jobs of one program are alike
  std::map<Cluster, ClusterPlace> places;

  // Jobs of other programs.
  std::vector<ClusterRuns> stored_for(const std::string& job) const;
};

// Empty if the developers' data folder is missing.
std::vector<ChoiceTable> choice_tables();

double least_cost(const ClusterRuns& runs);  // ln dollars

// What was run, and what is used then.
struct Choice {
  std::vector<Cluster> run;
  Cluster used;
};

Choice choose_best_on_average(const std::vector<ClusterRuns>& stored, const ClusterRuns& truth);
Choice choose_cheapest_per_hour(const ClusterRuns& truth);
Choice choose_fastest(const ClusterRuns& truth);
// The stored jobs' median cost of each type relative to the type that is best on average, at its
// size.
Choice choose_by_speed_factor(const std::vector<ClusterRuns>& stored, const ClusterRuns& truth);
// seconds = a + b / nodes from the smallest and the largest cluster of each of the three types that
// are best on average (the core of Ernest, Venkataraman et al. 2016): six runs.
Choice choose_by_two_sizes(const std::vector<ClusterRuns>& stored, const ClusterRuns& truth);
// The smallest cluster of the type with the cheapest core: what a catalogue says.
Choice choose_cheapest_core(const ChoiceTable& table, const ClusterRuns& truth);
// A Gaussian process that is smooth in the features, without stored jobs, from three clusters in
// equal steps, by expected improvement (the core of CherryPick, Alipourfard et al. 2017); divided
// by what the run is expected to cost if `by_cost` (as HeterBO, Yi et al. 2020).
Choice choose_by_plain_search(const ChoiceTable& table, const ClusterRuns& truth,
                              std::size_t most_runs, bool by_cost);
// The best of so many clusters at random.
Choice choose_at_random(const ClusterRuns& truth, std::size_t runs, unsigned seed);
// perfmodel/machines/cluster_search.h
Choice choose_by_search(const ChoiceTable& table, const std::vector<ClusterRuns>& stored,
                        const ClusterRuns& truth, std::size_t most_runs);
Choice choose_knowing_all(const ClusterRuns& truth);

}  // namespace scavenger::perfmodel
