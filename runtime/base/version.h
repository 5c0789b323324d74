// The version and commit of this build.
#pragma once

#include <string>

namespace scavenger {

std::string version();  // "0.1.0"
std::string
commit();  // "1a2b3c4d5e6f", followed by "+" if the tree had changes; or "unknown" outside of git
// Returns what --version prints: "scavenger-train 0.1.0 (1a2b3c4d5e6f)". All processes of a job
// must have the same version.
std::string version_line(const std::string& program);

}  // namespace scavenger
