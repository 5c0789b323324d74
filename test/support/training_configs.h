// The ready configurations of training jobs in configs/, where campaigns have theirs, too.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/file.h"

namespace scavenger {

// Those whose editor takes the schema of training jobs.
inline std::vector<std::filesystem::path> training_configs(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (read_file(entry.path()).find("\"./scavenger.schema.json\"") != std::string::npos)
      paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

}  // namespace scavenger
