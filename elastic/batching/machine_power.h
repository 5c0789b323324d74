// What machines can be expected to do, relative to each other, before anything was measured.
#pragma once

#include <map>
#include <string>

#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Cores by machine type, as many as a worker computes with there. Empty where the configuration
// does not tell types apart: then the first iterations must show it. Clocks are not known before,
// and what a core does is measured soon enough. Throws InputError for a price catalog that is none.
std::map<std::string, double> machine_powers(const JobConfig& config);

}  // namespace scavenger::elastic
