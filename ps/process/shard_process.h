// The whole life of a scavenger-ps process: join the job, serve one shard, hand out snapshots, end.
#pragma once

#include "runtime/process/launch_ticket.h"

namespace scavenger::ps {

// Returns the exit code. Throws Error where the job cannot be joined.
int run_shard_process(const LaunchTicket& ticket);

}  // namespace scavenger::ps
