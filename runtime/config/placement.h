// Which process of a job runs on which host. This follows from the configuration alone, so that a
// restarted process runs on the same host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/config/job_config.h"

namespace scavenger {

// Returns whether all workers run on this machine.
bool runs_here(const JobConfig& config);

// Returns how many workers all hosts take together. Requires configured hosts.
std::uint32_t places(const ClusterConfig& cluster);

// Returns the index of the worker's host. Hosts are filled in order; workers beyond the last place
// start at the first host again. Returns nothing if no hosts are configured, so that all workers
// run on this machine.
std::optional<std::uint32_t> host_index_of_worker(const ClusterConfig& cluster,
                                                  std::uint32_t worker);
const HostConfig* host_of_worker(const ClusterConfig& cluster, std::uint32_t worker);

// Returns the address at which the other workers reach this one.
const std::string& address_of_worker(const ClusterConfig& cluster, std::uint32_t worker);

// Returns null if the shard runs on the controller's host.
const HostConfig* host_of_shard(const JobConfig& config, std::uint32_t shard);

// Returns how many workers run on the host of `worker`, including itself.
std::uint32_t workers_beside(const ClusterConfig& cluster, std::uint32_t worker);

// Returns the most samples of a batch that the worker may get; 0: no bound.
std::uint32_t largest_share_of(const JobConfig& config, std::uint32_t worker);

// Returns whether the workers synchronise through shared memory.
bool uses_shared_memory(const JobConfig& config);
// Whether workers of one host add up by Gloo or NCCL, and the shards get one gradient of each host.
bool adds_up_by_collective(const JobConfig& config);

// Returns whether the shard is on the worker's host and accesses the worker's memory directly. It
// does so if the transport is automatic and nothing is rounded on the wire, since all workers must
// compute with the same weights.
bool is_near(const JobConfig& config, std::uint32_t worker, std::uint32_t shard);

// Returns S: 0 for all-reduce; 1 if workers share memory; otherwise the configured number.
// Automatic means one for each host that the shards are spread over, since a second shard on a host
// only takes cores from the workers.
std::uint32_t shard_count(const JobConfig& config);

}  // namespace scavenger
