// Whether a result may be used, or its simulation has diverged. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "campaign/result/result_files.h"

namespace scavenger::campaign {

// Why the result is not valid; nothing if it is. A file that cannot be read is not valid, nor is
// one that has no file for one of the patterns, or no profile. Standard errors may be NaN: there is
// none if a simulation was too short.
std::optional<std::string> fault_of(const std::vector<ResultFile>& files,
                                    const SimulationResult& rules, const ValidityRules& valid);

}  // namespace scavenger::campaign
