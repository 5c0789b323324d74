#include "test/unit/perfmodel/machines/sia_clusters.h"

#include <algorithm>
#include <tuple>

#include "test/unit/perfmodel/machines/machine_tables.h"

namespace scavenger::perfmodel {
namespace {

void add_row(GpuClusters& clusters, const TableRow& row, double vms, double gpus) {
  clusters[row.at("cluster")][row.at("model")].push_back(
      {vms, gpus, std::stod(row.at("local_bsz")), std::stod(row.at("step_time_s"))});
}

void order(GpuSetups& setups) {
  std::ranges::sort(setups, {}, [](const GpuSetup& setup) {
    return std::tuple(setup.vms, setup.gpus, setup.local_batch);
  });
}

// The set-up of these machines whose batch is the least, the middle or the most: 0, 0.5, 1.
GpuSetup at(const GpuSetups& setups, double vms, double gpus, double place) {
  GpuSetups found;
  std::ranges::copy_if(setups, std::back_inserter(found), [&](const GpuSetup& setup) {
    return setup.vms == vms && setup.gpus == gpus;
  });
  return found.at(static_cast<std::size_t>(place * static_cast<double>(found.size() - 1)));
}

}  // namespace

GpuClusters sia_clusters() {
  GpuClusters clusters;
  for (const TableRow& row : machine_table("sia_placements.csv")) {
    const std::string& placement = row.at("placement");  // a digit for each VM: its GPUs
    double gpus = 0.0;
    for (const char digit : placement) gpus += digit - '0';
    add_row(clusters, row, static_cast<double>(placement.size()), gpus);
  }
  for (const TableRow& row : machine_table("sia_scalability.csv"))
    add_row(clusters, row, std::stod(row.at("num_nodes")), std::stod(row.at("num_replicas")));
  for (auto& [cluster, jobs] : clusters)
    for (auto& [job, setups] : jobs) order(setups);
  return clusters;
}

GpuSetups one_gpu_probes(const GpuSetups& setups) {
  return {at(setups, 1.0, 1.0, 0.0), at(setups, 1.0, 1.0, 0.5), at(setups, 1.0, 1.0, 1.0)};
}

GpuSetups several_gpu_probes(const GpuSetups& setups) {
  const double vms = setups.back().vms, gpus = setups.back().gpus;
  double full = 0.0, fewest = gpus;
  for (const GpuSetup& setup : setups) {
    if (setup.vms == 1.0) full = std::max(full, setup.gpus);
    if (setup.vms == 2.0) fewest = std::min(fewest, setup.gpus);
  }
  return {at(setups, 1.0, full, 1.0), at(setups, 2.0, fewest, 0.5), at(setups, vms, gpus, 0.0)};
}

MachineUse use_of(const GpuSetup& setup) {
  return {0, setup.vms, setup.gpus / setup.vms, setup.local_batch};
}

}  // namespace scavenger::perfmodel
