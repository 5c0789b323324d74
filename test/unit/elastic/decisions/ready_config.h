// A configuration as a job resolves it: one that can be read back.
#pragma once

#include <filesystem>

#include "runtime/config/config_file.h"

namespace scavenger::elastic {

inline JobConfig ready_config() {
  return load_job_config(std::filesystem::path(SCAVENGER_CONFIGS) / "synthetic_mlp.json", {},
                         DataFiles::kNotChecked);
}

}  // namespace scavenger::elastic
