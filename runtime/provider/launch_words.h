// What a worker is started with, and the words that a site wants before it: a container's, and what
// must be loaded. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/config/job_config.h"

namespace scavenger {

// Returns the name of the program that is a worker of this job, and its arguments.
std::vector<std::string> worker_words(const JobConfig& config);

// Returns words that precede a command: they run the lines `prelude` in a login shell of bash, and
// then `prefix` ("apptainer", "exec", "image.sif") and the command in its place. The prelude does
// not see the command's standard input; if it fails, the command is not run. None if both are
// empty.
std::vector<std::string> site_words(const std::vector<std::string>& prelude,
                                    const std::vector<std::string>& prefix);

}  // namespace scavenger
