#include "test/unit/perfmodel/time/more_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "test/unit/perfmodel/time/measured_tables.h"

namespace scavenger::perfmodel {
namespace {

using Repeats = std::map<std::pair<double, double>, std::vector<double>>;  // seconds by (K, B)

// The median of each configuration's measurements.
std::vector<TimeObservation> medians(const Repeats& repeats) {
  std::vector<TimeObservation> rows;
  for (const auto& [configuration, seconds] : repeats) {
    std::vector<double> sorted = seconds;
    std::ranges::sort(sorted);
    const double median = 0.5 * (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]);
    rows.push_back({{configuration.first, configuration.second}, median});
  }
  return rows;
}

bool is_enough(const std::vector<TimeObservation>& rows) {
  std::set<double> workers, batches;
  for (const TimeObservation& row : rows) {
    workers.insert(row.configuration.workers);
    batches.insert(row.configuration.local_batch());
  }
  return rows.size() >= 9 && workers.size() >= 3 && batches.size() >= 2;
}

// By source and name.
using Found = std::map<std::pair<std::string, std::string>, Repeats>;

void keep_enough(const Found& found, std::vector<TimeTable>& tables) {
  for (const auto& [which, repeats] : found)
    if (auto rows = medians(repeats); is_enough(rows))
      tables.push_back({which.second, which.first, std::move(rows)});
}

void add_paper(std::vector<TimeTable>& tables) {
  const auto folder = shared_data_or_skip("scavenger_paper");
  if (folder.empty()) return;
  for (const char* model : {"ResNet18", "ResNet50"}) {
    Repeats repeats;
    for (const FigurePoint& p : read_figure_points(folder, model))
      if (p.iteration_seconds > 0.0)
        repeats[{p.workers, p.global_batch}].push_back(p.iteration_seconds);
    tables.push_back({std::string("paper ") + model, "paper", medians(repeats)});
  }
}

void add_pollux(std::vector<TimeTable>& tables) {
  const auto folder = shared_data_or_skip("pollux");
  if (folder.empty()) return;
  for (const char* model : {"cifar10", "bert"}) {
    TimeTable table{std::string("pollux ") + model, "pollux", {}};
    for (const AdaptDlObservation& o : read_pollux_times(folder / model))
      table.rows.push_back(to_time_observation(o));
    tables.push_back(std::move(table));
  }
}

// Of each job the runs with one worker per node, and those on the GPUs of one node. Left out: the
// cluster that its authors did not measure, and the two tables that are Pollux's.
void add_sia(std::vector<TimeTable>& tables) {
  const auto folder = shared_data_or_skip("srifty");
  if (folder.empty()) return;
  Found found;
  const auto keep = [&](const std::string& model, const std::string& cluster, const char* where,
                        double workers, const std::string& batch, const std::string& seconds) {
    if (cluster == "dgx-ext") return;
    const bool is_pollux = cluster == "aws" && (model == "cifar10" || model == "bert");
    if (is_pollux && std::string(where).empty()) return;
    found[{"sia " + cluster + where, "sia " + cluster + " " + model + where}]
         [{workers, workers * std::stod(batch)}]
             .push_back(std::stod(seconds));
  };
  auto placed = read_csv(folder / "sia_placements.csv");
  for (std::size_t i = 0; i < placed["model"].size(); ++i) {
    const std::string& nodes = placed["placement"][i];  // a digit for each: its GPUs
    const auto keep_as = [&](const char* where, double workers) {
      keep(placed["model"][i], placed["cluster"][i], where, workers, placed["local_bsz"][i],
           placed["step_time_s"][i]);
    };
    if (nodes.find_first_not_of('1') == std::string::npos)
      keep_as("", static_cast<double>(nodes.size()));
    if (nodes.size() == 1) keep_as(", one node", std::stod(nodes));
  }
  auto more = read_csv(folder / "sia_scalability.csv");
  for (std::size_t i = 0; i < more["model"].size(); ++i)
    if (more["num_nodes"][i] == more["num_replicas"][i])
      keep(more["model"][i], more["cluster"][i], "", std::stod(more["num_nodes"][i]),
           more["local_bsz"][i], more["step_time_s"][i]);
  keep_enough(found, tables);
}

// Synchronous jobs with one parameter server on EC2; a batch size is a worker's.
void add_lynceus(std::vector<TimeTable>& tables) {
  const auto folder = shared_data_or_skip("srifty");
  if (folder.empty()) return;
  constexpr double kFewestIterations = 20.0;
  Found found;
  for (const std::string model : {"cnn", "rnn"}) {
    auto jobs = read_csv(folder / ("lynceus_tf_" + model + ".csv"));
    for (std::size_t i = 0; i < jobs["n_workers"].size(); ++i) {
      const double iterations = std::stod(jobs["total_iterations"][i]);
      if (jobs["synchronism"][i] != "sync" || iterations < kFewestIterations) continue;
      const double workers = std::stod(jobs["n_workers"][i]);
      found[{"lynceus", "lynceus " + jobs["vm_flavor"][i] + " " + model}]
           [{workers, workers * std::stod(jobs["batch_size"][i])}]
               .push_back(std::stod(jobs["training_time"][i]) / iterations);
    }
  }
  keep_enough(found, tables);
}

// Jobs on one server's GPUs, or on several servers' ("unconsolidated"). A batch size is a worker's,
// and for several workers the rate is the sum of theirs, so an iteration takes K / rate. Zero: it
// did not run.
void add_gavel(std::vector<TimeTable>& tables) {
  const auto folder = shared_data_or_skip("srifty");
  if (folder.empty()) return;
  Found found;
  auto jobs = read_csv(folder / "gavel_simulation_throughputs.csv");
  for (std::size_t i = 0; i < jobs["gpu"].size(); ++i) {
    const double rate = std::stod(jobs["steps_per_s"][i]);
    if (jobs["batch_size"][i].empty() || !(rate > 0.0)) continue;
    const double workers = std::stod(jobs["scale_factor"][i]);
    const std::string& gpu = jobs["gpu"][i];
    found[{"gavel", "gavel " + gpu + " " + jobs["model"][i]}]
         [{workers, workers * std::stod(jobs["batch_size"][i])}]
             .push_back(workers / rate);
  }
  keep_enough(found, tables);
}

}  // namespace

std::vector<TimeTable> own_tables() {
  constexpr std::array<std::array<double, 4>, 4> kMlp = {{{0.01135, 0.01277, 0.01578, 0.02489},
                                                          {0.01191, 0.01255, 0.01413, 0.01804},
                                                          {0.01308, 0.01344, 0.01478, 0.01749},
                                                          {0.01468, 0.01506, 0.01625, 0.01835}}};
  constexpr std::array<std::array<double, 4>, 4> kCnn = {{{0.01942, 0.03477, 0.06929, 0.1382},
                                                          {0.01287, 0.01972, 0.03762, 0.07147},
                                                          {0.01112, 0.01689, 0.03168, 0.04994},
                                                          {0.01078, 0.01608, 0.0254, 0.04198}}};
  std::vector<TimeTable> tables{{"own MLP", "own", {}}, {"own CNN", "own", {}}};
  for (std::size_t k = 0; k < 4; ++k)
    for (std::size_t b = 0; b < 4; ++b) {
      const Configuration at{static_cast<double>(k + 1), static_cast<double>(64 << b)};
      tables[0].rows.push_back({at, kMlp[k][b]});
      tables[1].rows.push_back({at, kCnn[k][b]});
    }
  return tables;
}

std::vector<TimeTable> tables_of_others() {
  std::vector<TimeTable> tables;
  add_paper(tables);
  add_pollux(tables);
  add_sia(tables);
  add_lynceus(tables);
  add_gavel(tables);
  return tables;
}

}  // namespace scavenger::perfmodel
