// The machine that we run on.
#pragma once

#include <cstdint>

#include "elastic/events/event.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Cores that this process may use: affinity and cgroup quotas count.
std::uint32_t usable_cores();

fact::Host describe_host(std::uint32_t cores);

// How many threads a worker computes with: as configured, or an equal share of its host's cores, of
// which every host is taken to have as many as this one. Shards need little time and take turns
// with the workers.
std::uint32_t threads_of(const ClusterConfig& config, std::uint32_t worker, std::uint32_t cores);

}  // namespace scavenger::elastic
