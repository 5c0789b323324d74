#include "test/unit/perfmodel/machines/choice_tables.h"

#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "test/unit/perfmodel/machines/machine_tables.h"

namespace scavenger::perfmodel {
namespace {

// Dollars per hour, vCPU and GiB of AWS's list in 2018.
struct ListedType {
  double dollars = 0.0;
  double cores = 0.0;
  double gib = 0.0;
};
const std::map<std::string, ListedType> kListed = {
    {"c4.large", {0.1, 2, 3.75}},    {"c4.xlarge", {0.199, 4, 7.5}},
    {"c4.2xlarge", {0.398, 8, 15}},  {"m4.large", {0.1, 2, 8}},
    {"m4.xlarge", {0.2, 4, 16}},     {"m4.2xlarge", {0.4, 8, 32}},
    {"r4.large", {0.133, 2, 15.25}}, {"r4.xlarge", {0.266, 4, 30.5}},
    {"r4.2xlarge", {0.532, 8, 61}},  {"t2.small", {0.023, 1, 2}},
    {"t2.medium", {0.0464, 2, 4}},   {"t2.xlarge", {0.1856, 4, 16}},
    {"t2.2xlarge", {0.3712, 8, 32}}};

ClusterPlace listed_place(const Cluster& cluster) {
  const ListedType& type = kListed.at(cluster.type);
  return {{std::log(cluster.nodes * type.cores / 55.0), std::log(type.cores / 4.0),
           std::log(type.gib / type.cores / 4.0)},
          std::log(cluster.nodes * type.gib)};
}

ChoiceTable scout() {
  ChoiceTable table;
  table.name = "Scout";
  for (const TableRow& row : machine_table("scout_multi.csv")) {
    const Cluster cluster{row.at("vm_type"), std::stod(row.at("nodes"))};
    const std::string job =
        row.at("workload") + " " + row.at("framework") + " " + row.at("datasize");
    const double seconds = std::log(std::stod(row.at("elapsed_s")));
    const double per_second = cluster.nodes * kListed.at(cluster.type).dollars / 3600.0;
    table.jobs[job][cluster] = {seconds + std::log(per_second), seconds};
    table.programs[job] = row.at("workload");
    table.places[cluster] = listed_place(cluster);
  }
  return table;
}

// Types are known by numbers alone: cloud, family and size.
ChoiceTable ibm() {
  ChoiceTable table;
  table.name = "IBM";
  for (const TableRow& row : machine_table("ibm_multi_cloud_configuration.csv")) {
    if (row.at("status") != "ok") continue;
    const std::string cloud = row.at("provider");
    const std::string family = row.at(cloud + "_family"), size = row.at(cloud + "_vcpu");
    const std::string kind = cloud == "C" ? row.at("C_type") : "0";
    const Cluster cluster{cloud + family + "." + kind + "." + size, std::stod(row.at("nodes"))};
    const std::string job = row.at("workload");
    table.jobs[job][cluster] = {std::log(std::stod(row.at("target_cost"))),
                                std::log(std::stod(row.at("target_runtime")))};
    table.programs[job] = job.substr(job.find('-') + 1);
    const double cores = std::log(2.0) * std::stod(size);
    ClusterPlace place{{std::log(cluster.nodes) + cores, cores, std::stod(family), std::stod(kind)},
                       std::log(cluster.nodes) + cores};
    for (const char* other : {"A", "B", "C"}) place.features.push_back(cloud == other ? 1.5 : 0.0);
    table.places[cluster] = std::move(place);
  }
  return table;
}

constexpr std::size_t kLeastClusters = 20;  // of a job of Lynceus

// Training to 85 %, with a parameter server of the workers' type. A job is a network with its batch
// size, learning rate and synchronism; runs that did not get there are clusters it cannot have.
ChoiceTable lynceus() {
  ChoiceTable table;
  table.name = "Lynceus";
  for (const std::string network : {"cnn", "rnn"})
    for (const TableRow& row : machine_table("lynceus_tf_" + network + ".csv")) {
      if (std::stod(row.at("acc")) < 0.85) continue;
      const Cluster cluster{row.at("vm_flavor"), std::stod(row.at("n_workers"))};
      const std::string job = network + " " + row.at("batch_size") + " " + row.at("learning_rate") +
                              " " + row.at("synchronism");
      const double seconds = std::log(std::stod(row.at("training_time")));
      const double per_second =
          (cluster.nodes + std::stod(row.at("n_ps"))) * kListed.at(cluster.type).dollars / 3600.0;
      table.jobs[job][cluster] = {seconds + std::log(per_second), seconds};
      table.programs[job] = network;
      table.places[cluster] = listed_place(cluster);
    }
  std::erase_if(table.jobs, [](const auto& job) { return job.second.size() < kLeastClusters; });
  return table;
}

}  // namespace

std::vector<ClusterRuns> ChoiceTable::stored_for(const std::string& job) const {
  std::vector<ClusterRuns> stored;
  for (const auto& [other, runs] : jobs)
    if (programs.at(other) != programs.at(job)) stored.push_back(runs);
  return stored;
}

std::vector<ChoiceTable> choice_tables() {
  std::vector<ChoiceTable> tables;
  for (ChoiceTable (*read)() : {scout, ibm, lynceus}) {
    tables.push_back(read());
    if (tables.back().jobs.empty()) return {};
  }
  return tables;
}

}  // namespace scavenger::perfmodel
