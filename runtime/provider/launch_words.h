// The words that a site wants before each program: a container's, and what must be loaded. Pure.
#pragma once

#include <string>
#include <vector>

namespace scavenger {

// Returns words that precede a command: they run the lines `prelude` in a login shell of bash, and
// then `prefix` ("apptainer", "exec", "image.sif") and the command in its place. The prelude does
// not see the command's standard input; if it fails, the command is not run. None if both are
// empty.
std::vector<std::string> site_words(const std::vector<std::string>& prelude,
                                    const std::vector<std::string>& prefix);

}  // namespace scavenger
