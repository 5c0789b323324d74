// Which build this is.
#pragma once

#include <string>

namespace scavenger {

std::string version();  // "0.1.0"
std::string
commit();  // "1a2b3c4d5e6f", with "+" where the tree had changes, or "unknown" outside git
// "scavenger-train 0.1.0 (1a2b3c4d5e6f)": what --version prints. Processes of one job must agree on
// it.
std::string version_line(const std::string& program);

}  // namespace scavenger
