// Identifies the sources of a prepared file, to decide whether it is still current.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/digest.h"
#include "runtime/config/job_config.h"

namespace scavenger {

struct SourceIdentity {
  // Name of the prepared file. It follows from the settings, so that a data set whose files change
  // replaces its own older version in the cache.
  std::string file_name;
  // Digest of the settings, and of the size and modification time of each source file.
  Digest key{};
};

// Does not read the content of the files. Throws DataError if a source file is missing or is not a
// regular file.
SourceIdentity identify_source(const DataConfig& data, Split split);

}  // namespace scavenger
