#include "runtime/config/placement.h"

#include <algorithm>

namespace scavenger {
namespace {

bool is_spread(const JobConfig& config) {
  return !config.cluster.hosts.empty() && config.ps.placement != ShardPlacement::kController;
}

// Returns how many hosts have workers; these are the first ones.
std::uint32_t hosts_in_use(const ClusterConfig& cluster) {
  std::uint32_t count = 0;
  std::uint32_t taken = 0;
  for (const HostConfig& host : cluster.hosts) {
    if (taken >= cluster.workers) break;
    taken += host.workers;
    ++count;
  }
  return count;
}

}  // namespace

std::uint32_t places(const ClusterConfig& cluster) {
  std::uint32_t sum = 0;
  for (const HostConfig& host : cluster.hosts) sum += host.workers;
  return sum;
}

std::optional<std::uint32_t> host_index_of_worker(const ClusterConfig& cluster,
                                                  std::uint32_t worker) {
  if (cluster.hosts.empty()) return std::nullopt;
  std::uint32_t place = worker % places(cluster);
  std::uint32_t index = 0;
  for (; place >= cluster.hosts[index].workers; ++index) place -= cluster.hosts[index].workers;
  return index;
}

const HostConfig* host_of_worker(const ClusterConfig& cluster, std::uint32_t worker) {
  const auto index = host_index_of_worker(cluster, worker);
  return index ? &cluster.hosts[*index] : nullptr;
}

const std::string& address_of_worker(const ClusterConfig& cluster, std::uint32_t worker) {
  const HostConfig* const host = host_of_worker(cluster, worker);
  static const std::string loopback = "127.0.0.1";
  return host != nullptr ? host->address : loopback;
}

const HostConfig* host_of_shard(const JobConfig& config, std::uint32_t shard) {
  if (!is_spread(config)) return nullptr;
  return &config.cluster.hosts[shard % hosts_in_use(config.cluster)];
}

std::uint32_t workers_beside(const ClusterConfig& cluster, std::uint32_t worker) {
  if (cluster.hosts.empty()) return cluster.workers;
  const HostConfig* const host = host_of_worker(cluster, worker);
  std::uint32_t count = 0;
  for (std::uint32_t other = 0; other < cluster.workers; ++other)
    if (host_of_worker(cluster, other) == host) ++count;
  return count;
}

std::uint32_t largest_share_of(const JobConfig& config, std::uint32_t worker) {
  const HostConfig* const host = host_of_worker(config.cluster, worker);
  if (host != nullptr && host->largest_share > 0) return host->largest_share;
  return config.batching.largest_share;
}

bool adds_up_by_collective(const JobConfig& config) {
  return config.sync.hierarchy == SyncHierarchy::kGloo ||
         config.sync.hierarchy == SyncHierarchy::kNccl;
}

bool runs_here(const JobConfig& config) {
  return config.cluster.hosts.empty() && !config.provider.is_remote();
}

bool uses_shared_memory(const JobConfig& config) {
  if (config.sync.strategy != SyncStrategy::kParameterServer) return false;
  if (config.sync.transport != SyncTransport::kAutomatic)
    return config.sync.transport == SyncTransport::kSharedMemory;
  // A configuration with several shards or a port means TCP.
  return runs_here(config) && config.ps.shards <= 1 && config.ps.port == 0;
}

bool is_near(const JobConfig& config, std::uint32_t worker, std::uint32_t shard) {
  const HostConfig* const host = host_of_shard(config, shard);
  return host != nullptr && host == host_of_worker(config.cluster, worker) &&
         config.sync.transport == SyncTransport::kAutomatic &&
         config.sync.wire_precision == WirePrecision::kFloat32;
}

std::uint32_t shard_count(const JobConfig& config) {
  if (config.sync.strategy != SyncStrategy::kParameterServer) return 0;
  if (uses_shared_memory(config)) return 1;
  if (config.ps.shards > 0) return config.ps.shards;
  return is_spread(config) ? hosts_in_use(config.cluster) : 1;
}

}  // namespace scavenger
