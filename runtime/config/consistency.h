// The rules between the values of a configuration. The schema cannot express them, since it checks
// one value at a time. Pure.
#pragma once

#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/schema/violation.h"

namespace scavenger {

// Returns all contradictions in `config`. Requires that `config` satisfies the schema.
std::vector<Violation> find_inconsistencies(const JobConfig& config);

}  // namespace scavenger
