#include "cloud_gcp/provider/quota_room.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

namespace scavenger::gcp {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

const Quota* find_quota(std::span<const Quota> quotas, const std::string& metric) {
  const auto found = std::find_if(quotas.begin(), quotas.end(),
                                  [&metric](const Quota& quota) { return quota.metric == metric; });
  return found == quotas.end() ? nullptr : &*found;
}

std::string upper(std::string text) {
  for (char& c : text) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return text;
}

// "n2d-standard-8" -> "N2D_CPUS".
std::string cpu_metric(const std::string& machine_type) {
  const std::string series = machine_type.substr(0, machine_type.find('-'));
  for (const char* shared : {"e2", "n1", "f1", "g1", "custom"})
    if (series == shared) return "CPUS";
  return upper(series) + "_CPUS";
}

// "nvidia-tesla-t4" -> "NVIDIA_T4_GPUS", "nvidia-a100-80gb" -> "NVIDIA_A100_80GB_GPUS".
std::string gpu_metric(const std::string& gpu_type) {
  std::string name = gpu_type;
  if (const auto tesla = name.find("tesla-"); tesla != std::string::npos) name.erase(tesla, 6);
  if (name == "nvidia-h100-80gb") name = "nvidia-h100";
  return upper(name) + "_GPUS";
}

std::string disk_metric(const std::string& disk_type) {
  if (disk_type.starts_with("hyperdisk")) return "HDB_TOTAL_GB";
  return disk_type == "pd-standard" ? "DISKS_TOTAL_GB" : "SSD_TOTAL_GB";
}

// For a spot VM the preemptible quota, where the project has one.
std::string granted_metric(const std::string& metric, const std::string& preemptible, bool is_spot,
                           std::span<const Quota> quotas) {
  const Quota* const granted = find_quota(quotas, preemptible);
  return is_spot && granted != nullptr && granted->limit > 0.0 ? preemptible : metric;
}

QuotaRoom room_of(const std::map<std::string, double>& use, std::span<const Quota> quotas) {
  QuotaRoom room{kUnlimited, std::nullopt, 0.0};
  for (const auto& [metric, amount] : use) {
    const Quota* const quota = find_quota(quotas, metric);
    if (quota == nullptr || amount <= 0.0) continue;
    const double vms = std::floor(quota->limit / amount);
    if (vms < room.vms) room = {vms, *quota, amount};
  }
  return room;
}

// The part that machines of different types may have quotas of their own for.
bool is_of_type(const std::string& metric) {
  return metric.ends_with("CPUS") || metric.ends_with("_GPUS");
}

}  // namespace

std::map<std::string, double> quota_use(const MachineType& type, const VmDemand& demand,
                                        std::span<const Quota> quotas) {
  std::map<std::string, double> use;
  if (!type.has_shared_cores)  // what those count for is not told
    use[granted_metric(cpu_metric(type.name), "PREEMPTIBLE_CPUS", demand.is_spot, quotas)] =
        type.vcpus;
  for (const AddedGpus& gpus : {demand.gpus, type.gpus}) {
    if (gpus.count == 0) continue;
    const std::string metric = gpu_metric(gpus.type);
    use[granted_metric(metric, "PREEMPTIBLE_" + metric, demand.is_spot, quotas)] += gpus.count;
  }
  use["INSTANCES"] = 1.0;
  use[disk_metric(demand.disk.type)] = static_cast<double>(demand.disk.gib);
  if (demand.has_external_address) use["IN_USE_ADDRESSES"] = 1.0;
  return use;
}

// Types that share their CPU quota have room for as many as the one that fits best; the others
// add up, below what all of them share.
QuotaRoom quota_room(std::span<const MachineType> types, const VmDemand& demand,
                     std::span<const Quota> quotas) {
  std::map<std::string, QuotaRoom> by_cpus;
  std::map<std::string, double> shared;
  for (const MachineType& type : types) {
    std::map<std::string, double> own;
    std::string cpus;
    for (const auto& [metric, amount] : quota_use(type, demand, quotas)) {
      (is_of_type(metric) ? own : shared)[metric] = amount;
      if (metric.ends_with("CPUS")) cpus = metric;
    }
    const QuotaRoom room = room_of(own, quotas);
    const auto [place, is_new] = by_cpus.try_emplace(cpus, room);
    if (!is_new && room.vms > place->second.vms) place->second = room;
  }
  QuotaRoom sum;
  double largest = -1.0;
  for (const auto& [metric, room] : by_cpus) {
    sum.vms += room.vms;
    if (room.vms <= largest) continue;
    largest = room.vms;
    sum.tightest = room.tightest;
    sum.per_vm = room.per_vm;
  }
  const QuotaRoom most = room_of(shared, quotas);
  return most.vms < sum.vms ? most : sum;
}

}  // namespace scavenger::gcp
