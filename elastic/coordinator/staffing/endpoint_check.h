// Whether a job can listen where its configuration says, before anything is started.
#pragma once

#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Throws InputError if this machine has no address cluster.listen_address, or if the controller or
// a shard beside it could not listen at its configured port.
void check_endpoints_are_free(const JobConfig& config);

}  // namespace scavenger::elastic
