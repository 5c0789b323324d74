// The rules between the values of a configuration: what the schema, which sees one value at a time,
// cannot say. Pure.
#pragma once

#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/config/violation.h"

namespace scavenger {

// All that contradicts itself in `config`, which fits the schema.
std::vector<Violation> find_inconsistencies(const JobConfig& config);

}  // namespace scavenger
