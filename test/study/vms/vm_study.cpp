// How far the probabilities of `scavenger-plan vms` hold on simulated jobs, and what each of its
// parts is worth: prints tables of docs/results/machine_types.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "test/study/vms/vm_trial.h"

namespace scavenger::elastic {
namespace {

struct Arguments {
  std::uint64_t jobs = 200;
  std::uint64_t first = 1;
  bool mixes = false;
  std::vector<std::string> without;  // parts of the planner; "all": each of them
};

const std::vector<std::pair<std::string, VmTrialSetting>> kParts = {
    {"variance", {.variance = false}},
    {"transfer", {.transfer = false}},
    {"auditions", {.auditions = 0}},
    {"dynamic shares", {.sharing = perfmodel::Sharing::kEven}},
    {"free B", {.free_batch = false}}};

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0.0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

void print_diagram(const std::string& name, const std::vector<Promise>& promises) {
  for (const ReliabilityBin& bin : reliability(promises))
    std::cout << fmt::format("| {} | {:.1f} to {:.1f} | {} | {:.1f} % | {:.1f} % |\n", name,
                             bin.low, bin.high, bin.count, 100.0 * bin.promised, 100.0 * bin.held);
  std::cout << std::flush;
}

std::vector<VmTrial> trials_of(const Arguments& arguments, const VmTrialSetting& setting) {
  std::vector<VmTrial> trials;
  for (std::uint64_t i = 0; i < arguments.jobs; ++i)
    trials.push_back(run_vm_trial(arguments.first + i, setting));
  return trials;
}

void print_reliability(const std::vector<VmTrial>& trials) {
  std::vector<Promise> time, cost, both;
  for (const VmTrial& trial : trials) {
    time.insert(time.end(), trial.time.begin(), trial.time.end());
    cost.insert(cost.end(), trial.cost.begin(), trial.cost.end());
    if (trial.both) both.push_back(*trial.both);
  }
  std::cout << "| what | promised between | plans | promised, mean | held |\n"
            << "| --- | --- | --- | --- | --- |\n";
  print_diagram("P(time)", time);
  print_diagram("P(cost)", cost);
  print_diagram("both, of the choice", both);
}

void print_intervals(const std::vector<VmTrial>& trials) {
  std::cout << "\n| evidence | plans | time below 10 % quantile | between | above 90 % quantile |\n"
            << "| --- | --- | --- | --- | --- |\n";
  for (const VmEvidence evidence :
       {VmEvidence::kCatalogue, VmEvidence::kProfiled, VmEvidence::kMeasured}) {
    double count = 0.0, below = 0.0, above = 0.0;
    for (const VmTrial& trial : trials)
      for (const Interval& one : trial.intervals) {
        if (one.evidence != evidence) continue;
        ++count;
        below += one.below ? 1.0 : 0.0;
        above += one.above ? 1.0 : 0.0;
      }
    if (count == 0.0) continue;
    std::cout << fmt::format("| {} | {:.0f} | {:.1f} % | {:.1f} % | {:.1f} % |\n",
                             name_of(evidence), count, 100.0 * below / count,
                             100.0 * (count - below - above) / count, 100.0 * above / count);
  }
}

void print_worth(const std::string& name, const std::vector<VmTrial>& trials) {
  std::vector<double> regrets;
  double choices = 0.0, held = 0.0, feasible = 0.0, auditions = 0.0;
  for (const VmTrial& trial : trials) {
    feasible += trial.is_feasible ? 1.0 : 0.0;
    auditions += static_cast<double>(trial.auditions);
    if (!trial.both) continue;
    ++choices;
    held += trial.both->held ? 1.0 : 0.0;
    if (trial.regret) regrets.push_back(100.0 * *trial.regret);
  }
  double mean = 0.0;
  for (const double regret : regrets) mean += regret / static_cast<double>(regrets.size());
  std::cout << fmt::format(
                   "| {} | {:.0f} of {:.0f} | {:.0f} % | {:.1f} % / {:.1f} % / {:.1f} % | {:.1f} "
                   "|\n",
                   name, held, feasible, choices > 0.0 ? 100.0 * held / choices : 0.0,
                   quantile(regrets, 0.5), mean, quantile(regrets, 0.9),
                   auditions / static_cast<double>(trials.size()))
            << std::flush;
}

void run(const Arguments& arguments) {
  const std::vector<VmTrial> all = trials_of(arguments, {});
  print_reliability(all);
  print_intervals(all);
  std::cout << "\n| planner | jobs done within limits | choices that kept them | above the best: "
               "median / mean / p90 | auditions |\n| --- | --- | --- | --- | --- |\n";
  print_worth("all", all);
  if (arguments.mixes)
    print_worth("with mixes of two types", trials_of(arguments, {.most_types = 2}));
  for (const auto& [part, setting] : kParts)
    if (std::ranges::count(arguments.without, part) + std::ranges::count(arguments.without, "all"))
      print_worth("without " + part, trials_of(arguments, setting));
}

}  // namespace
}  // namespace scavenger::elastic

int main(int count, char** words) {
  scavenger::elastic::Arguments arguments;
  CLI::App app("Plans of machine types on simulated jobs");
  app.add_option("--jobs", arguments.jobs, "How many");
  app.add_option("--first", arguments.first, "Number of the first job");
  app.add_option("--without", arguments.without,
                 "Parts of the planner: variance, transfer, auditions, \"dynamic shares\", "
                 "\"free B\", all");
  app.add_flag("--mixes", arguments.mixes, "Also with mixes, which takes ten times as long");
  CLI11_PARSE(app, count, words);
  try {
    scavenger::elastic::run(arguments);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
