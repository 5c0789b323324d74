// The paths of files in a configuration: data, models and weights.
#pragma once

#include <filesystem>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/schema/value_places.h"

namespace scavenger {

// Makes every path absolute: those from overrides are relative to `current_folder`, the others to
// `document_folder`. Requires that both are absolute. Pure.
void make_paths_absolute(JobConfig& config, const ValuePlaces& places,
                         const std::filesystem::path& document_folder,
                         const std::filesystem::path& current_folder);

// Returns the paths that are not absolute. Pure.
std::vector<Violation> find_relative_paths(const JobConfig& config);

// Returns the files that are missing or unreadable, with a remedy for each. Checks the disk, but
// reads no content.
std::vector<Violation> find_missing_files(const JobConfig& config);

}  // namespace scavenger
