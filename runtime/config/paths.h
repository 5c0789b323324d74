// The paths of files in a configuration: of data, and of models and weights.
#pragma once

#include <filesystem>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/config/value_places.h"

namespace scavenger {

// Makes every path absolute: those from overrides count from `current_folder`, the others from
// `document_folder`. Both are absolute. Pure.
void make_paths_absolute(JobConfig& config, const ValuePlaces& places,
                         const std::filesystem::path& document_folder,
                         const std::filesystem::path& current_folder);

// The paths that are not absolute. Pure.
std::vector<Violation> find_relative_paths(const JobConfig& config);

// The files that are not there, or cannot be read, and where to get them. Looks at the disk;
// reads no content.
std::vector<Violation> find_missing_files(const JobConfig& config);

}  // namespace scavenger
