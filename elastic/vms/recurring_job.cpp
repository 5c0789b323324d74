#include "elastic/vms/recurring_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "elastic/vms/table_file.h"
#include "perfmodel/machines/cluster_search.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

using RunCluster = std::pair<std::string, double>;  // type, VMs

[[noreturn]] void refuse_runs(std::string what, std::string where, std::string remedy) {
  throw InputError(
      {.what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

perfmodel::ClusterPlace place_of(const RunCluster& cluster, const std::vector<VmType>& catalogue) {
  const auto type = std::ranges::find(catalogue, cluster.first,
                                      [](const VmType& one) { return one.features.name; });
  if (type == catalogue.end())
    refuse_runs(fmt::format("the catalogue does not know the type {}", cluster.first),
                "scavenger-plan", "add it to the catalogue, or leave out its runs");
  const double cores = type->vcpus.value_or(1.0), memory = type->memory_gib.value_or(4.0 * cores);
  return {{std::log(cluster.second * cores), std::log(cores), std::log(memory / cores)},
          std::log(cluster.second * memory)};
}

}  // namespace

std::vector<WholeRun> read_whole_runs(const std::filesystem::path& file) {
  TableFile table(file, "write rows as job,type,vms,dollars: docs/machines.md has an example");
  for (const char* const column : {"job", "type", "vms", "dollars"}) table.require_column(column);
  std::vector<WholeRun> runs;
  while (table.next()) {
    WholeRun run;
    run.job = table.required_text("job");
    run.type = table.required_text("type");
    run.vms = table.required_number("vms");
    if (run.vms != std::floor(run.vms)) table.refuse("vms is no whole number");
    run.dollars = table.required_number("dollars");
    runs.push_back(std::move(run));
  }
  return runs;
}

NextRun next_run(const std::vector<WholeRun>& runs, const std::string& job,
                 const std::vector<VmType>& catalogue) {
  std::map<RunCluster, std::size_t> numbers;
  for (const WholeRun& run : runs) numbers.emplace(RunCluster{run.type, run.vms}, 0);
  std::vector<RunCluster> clusters;
  std::vector<perfmodel::ClusterPlace> places;
  for (auto& [cluster, number] : numbers) {
    number = clusters.size();
    clusters.push_back(cluster);
    places.push_back(place_of(cluster, catalogue));
  }
  std::map<std::string, std::vector<std::optional<double>>> costs;
  NextRun found;
  for (const WholeRun& run : runs) {
    auto& of_job = costs[run.job];
    of_job.resize(clusters.size());
    std::optional<double>& cost = of_job[numbers.at({run.type, run.vms})];
    cost = std::min(cost.value_or(std::log(run.dollars)), std::log(run.dollars));
    if (run.job == job && (!found.best || run.dollars < found.best->dollars)) found.best = run;
  }
  const auto own = costs.extract(job);
  if (costs.empty())
    refuse_runs("there is no run of another job", "scavenger-plan again",
                "the search needs at least one other job's runs on several clusters");
  std::vector<std::vector<std::optional<double>>> stored;
  for (auto& [name, of_job] : costs) stored.push_back(std::move(of_job));
  perfmodel::ClusterSearch search(std::move(places), stored);
  if (own)
    for (std::size_t i = 0; i < clusters.size(); ++i)
      if (own.mapped()[i]) search.add(i, *own.mapped()[i]);
  if (const auto next = search.next(std::vector<bool>(clusters.size(), true))) {
    found.next = WholeRun{job, clusters[next->place].first, clusters[next->place].second, 0.0};
    found.gain = next->gain;
  }
  return found;
}

std::string next_run_text(const NextRun& found) {
  const auto name = [](const WholeRun& run) { return fmt::format("{:g} x {}", run.vms, run.type); };
  if (!found.best)
    return fmt::format("run it on {}, which was best on average for the other jobs\n",
                       name(*found.next));
  const std::string best = fmt::format("{} (${:.4g})", name(*found.best), found.best->dollars);
  if (!found.is_worth_it())
    return fmt::format("stay with {}: no other cluster is expected to gain 1 %\n", best);
  return fmt::format("run it on {}: that is expected to gain {:.0f} % of the best so far, {}\n",
                     name(*found.next), 100.0 * found.gain, best);
}

}  // namespace scavenger::elastic
