// The machine that we run on.
#pragma once

#include <cstdint>

#include "elastic/report/event.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Cores that this process may use: affinity and cgroup quotas count.
std::uint32_t usable_cores();

fact::Host describe_host(std::uint32_t cores);

// How many threads each worker computes with where all run on this host: as configured, or an equal
// share of the cores. Shards need little time and take turns with the workers.
std::uint32_t threads_per_worker(const ClusterConfig& config, std::uint32_t cores);

// Whether the workers meet in shared memory.
bool uses_shared_memory(const JobConfig& config);

// S: one where they share memory; else as configured, or, where that is automatic, one: on one host
// a second shard only takes cores from the workers.
std::uint32_t shard_count(const JobConfig& config);

}  // namespace scavenger::elastic
