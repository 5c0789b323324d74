// Asks a model's Python file what scavenger-train must know before it starts anything.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "runtime/config/job_config.h"

namespace scavenger {

// Runs the file's functions once, in a process of the program `scavenger-python-worker` of this
// folder, and fills in the sizes of the file's own data sets. Has no effect on other models. Throws
// InputError, after the traceback was printed on standard error, if the file cannot be used, and
// ConfigError if its data sets have other sizes than the job began with.
void inspect_python_model(const std::filesystem::path& program_folder, JobConfig& config);

// Returns whether the word on the command line is a script with a training loop of its own, rather
// than a configuration.
bool is_script(const std::filesystem::path& path);

// Runs the script up to its first batch, in a process of its own, and returns the configuration of
// its job: what the script says of its data, optimizer and end, and the overrides (as after --set).
// Throws InputError after the traceback was printed, and ConfigError.
JobConfig config_of_script(const std::filesystem::path& program_folder,
                           const std::filesystem::path& script,
                           std::span<const std::string> arguments,
                           std::span<const std::string> overrides);

}  // namespace scavenger
