// The paths of data files in a configuration.
#pragma once

#include <filesystem>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/config/value_places.h"

namespace scavenger {

// Makes every data path absolute: those from overrides count from `current_folder`, the others from
// `document_folder`. Both are absolute. Pure.
void make_data_paths_absolute(DataConfig& data, const ValuePlaces& places,
                              const std::filesystem::path& document_folder,
                              const std::filesystem::path& current_folder);

// The data paths that are not absolute. Pure.
std::vector<Violation> find_relative_data_paths(const DataConfig& data);

// The data files that are not there, or cannot be read, and where to get them. Looks at the disk;
// reads no content.
std::vector<Violation> find_missing_data_files(const DataConfig& data);

}  // namespace scavenger
