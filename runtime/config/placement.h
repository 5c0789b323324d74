// Which process of a job runs on which host: follows from the configuration alone, so that it is
// the same whenever a process is started again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/config/job_config.h"

namespace scavenger {

// How many workers the hosts take together. Requires hosts.
std::uint32_t places(const ClusterConfig& cluster);

// Hosts are filled in order; a worker beyond the last place begins at the first one again. None:
// no hosts are configured, all run on this machine.
std::optional<std::uint32_t> host_index_of_worker(const ClusterConfig& cluster,
                                                  std::uint32_t worker);
const HostConfig* host_of_worker(const ClusterConfig& cluster, std::uint32_t worker);

// At which the other workers reach it.
const std::string& address_of_worker(const ClusterConfig& cluster, std::uint32_t worker);

// Null: beside the controller.
const HostConfig* host_of_shard(const JobConfig& config, std::uint32_t shard);

// How many of the workers run where `worker` does.
std::uint32_t workers_beside(const ClusterConfig& cluster, std::uint32_t worker);

// The most samples of a batch that it may get; 0: no bound.
std::uint32_t largest_share_of(const JobConfig& config, std::uint32_t worker);

// Whether the workers meet in shared memory.
bool uses_shared_memory(const JobConfig& config);

// Whether a shard is on a worker's host and reads and writes in the worker's memory: with the
// transport left automatic, and where nothing is rounded on the wire (all workers must compute with
// the same weights).
bool is_near(const JobConfig& config, std::uint32_t worker, std::uint32_t shard);

// S: none for all-reduce; one where workers share memory; else as configured, or, where that is
// automatic, one for each host that the shards are spread over. On one host a second shard only
// takes cores from the workers.
std::uint32_t shard_count(const JobConfig& config);

}  // namespace scavenger
