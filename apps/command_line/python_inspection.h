// Asks a model's Python file what scavenger-train must know before it starts anything.
#pragma once

#include <filesystem>

#include "runtime/config/job_config.h"

namespace scavenger {

// Runs the file's functions once, in a process of the program `scavenger-python-worker` of this
// folder, and fills in the sizes of the file's own data sets. Has no effect on other models. Throws
// InputError, after the traceback was printed on standard error, if the file cannot be used, and
// ConfigError if its data sets have other sizes than the job began with.
void inspect_python_model(const std::filesystem::path& program_folder, JobConfig& config);

}  // namespace scavenger
