// What each kind of search costs over the oracle, for jobs of all lengths: prints the tables of
// docs/results/search.md. search_study.py runs it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/base/text.h"
#include "test/study/search/trial.h"

namespace scavenger::perfmodel {
namespace {

struct Arguments {
  int trials = 50;
  std::string disturbance;
  double change_seconds = 0.1;
  double start_seconds = 0.0;
  std::vector<double> lengths{10.0, 30.0, 60.0, 300.0, 1200.0, 3600.0, 36000.0};
  std::string policy = "min-time";
  std::vector<std::string> tables;  // else drawn truths
  std::vector<std::string> modes{"off", "partial", "adaptive", "auto"};
};

const std::map<std::string, TrialMode> kModes = {{"off", TrialMode::kOff},
                                                 {"partial", TrialMode::kPartial},
                                                 {"adaptive", TrialMode::kAdaptive},
                                                 {"auto", TrialMode::kAuto}};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

std::vector<double> read_numbers(const std::string& path) {
  std::vector<double> numbers;
  std::ifstream file(path);
  for (double one = 0.0; file >> one;) numbers.push_back(one);
  return numbers;
}

// First line: name, samples of an epoch, noise scale. Then K, B, seconds, epochs; and "stage", the
// share of the way at its end, |G|^2, the trace, and the epochs of each batch beside its mean.
TrialTruth read_table(const std::string& path) {
  TrialTruth truth;
  std::ifstream file(path);
  file >> truth.name >> truth.samples_per_epoch >> truth.noise_scale;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (line.starts_with("stage")) {
      std::string word;
      TrialStage stage;
      words >> word >> stage.end >> stage.gradient >> stage.trace;
      for (double one = 0.0; words >> one;) stage.epochs.push_back(one);
      truth.stages.push_back(stage);
      continue;
    }
    TrialPoint point;
    if (words >> point.configuration.workers >> point.configuration.global_batch >>
        point.iteration_seconds >> point.epochs)
      truth.points.push_back(point);
  }
  return truth;
}

// Of one truth and seed, by mode: the objective beside the oracle's, both on the same machine.
using Overheads = std::map<std::string, double>;

Overheads overheads(const std::vector<std::string>& modes, const TrialTruth& truth,
                    TrialSetting setting, std::uint64_t seed) {
  TrialSetting best = setting;
  best.start = static_cast<std::size_t>(&truth.oracle(setting.policy) - truth.points.data());
  const double oracle = run_trial(truth, best, seed).objective;
  Overheads all;
  for (const std::string& mode : modes) {
    setting.mode = kModes.at(mode);
    all[mode] = run_trial(truth, setting, seed).objective / oracle - 1.0;
  }
  return all;
}

// The last column, auto beside off, is there if both were tried.
void print_row(const std::string& name, const std::vector<std::string>& modes,
               const std::vector<Overheads>& trials) {
  std::string line = name;
  for (const std::string& mode : modes) {
    std::vector<double> over;
    for (const Overheads& trial : trials) over.push_back(100.0 * trial.at(mode));
    line += fmt::format(" | {:.1f} / {:.1f}", quantile(over, 0.5), quantile(over, 0.95));
  }
  std::vector<double> beside;
  for (const Overheads& trial : trials)
    if (trial.contains("auto") && trial.contains("off"))
      beside.push_back(100.0 * ((1.0 + trial.at("auto")) / (1.0 + trial.at("off")) - 1.0));
  if (!beside.empty())
    line += fmt::format(" | {:.1f} / {:.1f} / {:.1f}", quantile(beside, 0.5),
                        quantile(beside, 0.95), quantile(beside, 1.0));
  std::cout << fmt::format("| {} |\n", line) << std::flush;
}

void run(const Arguments& arguments) {
  const std::vector<double> disturbance =
      arguments.disturbance.empty() ? std::vector<double>{} : read_numbers(arguments.disturbance);
  const Policy policy = parse_policy(arguments.policy);
  const TrialSetting setting{.policy = policy,
                             .change_seconds = arguments.change_seconds,
                             .start_seconds = arguments.start_seconds,
                             .disturbance = disturbance};
  for (const std::string& path : arguments.tables) {
    std::vector<Overheads> trials;
    const TrialTruth truth = read_table(path);
    for (int i = 0; i < arguments.trials; ++i)
      trials.push_back(overheads(arguments.modes, truth, setting, static_cast<std::uint64_t>(i)));
    print_row(fmt::format("{}, {} | {}", truth.name, arguments.policy,
                          format_duration(truth.job_seconds(truth.oracle(policy)))),
              arguments.modes, trials);
  }
  if (!arguments.tables.empty()) return;
  for (const double length : arguments.lengths) {
    std::vector<Overheads> trials;
    for (int i = 0; i < arguments.trials; ++i) {
      const auto number = static_cast<std::uint64_t>(i);
      trials.push_back(overheads(arguments.modes, with_length(drawn_truth(number), policy, length),
                                 setting, number));
    }
    print_row(fmt::format("{} | {}", arguments.policy, format_duration(length)), arguments.modes,
              trials);
  }
}

}  // namespace
}  // namespace scavenger::perfmodel

int main(int count, char** words) {
  scavenger::perfmodel::Arguments arguments;
  CLI::App app("What searches cost over the oracle, in simulation");
  app.add_option("--trials", arguments.trials, "Jobs of each length");
  app.add_option("--policy", arguments.policy, "min-time, min-cost or knee");
  app.add_option("--lengths", arguments.lengths, "Seconds of the job at the oracle");
  app.add_option("--change-seconds", arguments.change_seconds, "What a move takes");
  app.add_option("--start-seconds", arguments.start_seconds,
                 "What new machines take to start, paid for");
  app.add_option("--disturbance", arguments.disturbance, "File of slowdowns, one a second");
  app.add_option("--tables", arguments.tables, "Files of measured tables, in place of drawn laws");
  app.add_option("--modes", arguments.modes,
                 "Ways of searching, a column each: all four if left out")
      ->check(CLI::IsMember(scavenger::perfmodel::kModes));
  CLI11_PARSE(app, count, words);
  try {
    scavenger::perfmodel::run(arguments);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
