// What a prepared file was made from: enough to tell whether it is still current.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/digest.h"
#include "runtime/config/job_config.h"

namespace scavenger {

struct SourceIdentity {
  // Of the prepared file: follows from the settings, so that a data set whose files change
  // replaces its own older version in the cache.
  std::string file_name;
  // Settings, and size and modification time of each source file.
  Digest key{};
};

// Reads no content. Throws DataError where a source file is missing or not a regular file.
SourceIdentity identify_source(const DataConfig& data, Split split);

}  // namespace scavenger
