// Runs a scavenger-ps process: it joins the job, serves one shard, sends snapshots, and ends.
#pragma once

#include "runtime/process/launch_ticket.h"

namespace scavenger::ps {

// Returns the exit code. Throws Error if it cannot join the job.
int run_shard_process(const LaunchTicket& ticket);

}  // namespace scavenger::ps
