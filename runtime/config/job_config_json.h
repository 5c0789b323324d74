// JobConfig's fields from and to their JSON values. Pure; nothing is checked here (to_json() is in
// config_file.h).
#pragma once

#include "runtime/config/job_config.h"
#include "runtime/config/json.h"

namespace scavenger {

// `document` fits the schema, and apply_schema() has completed it. Paths are taken as they are.
JobConfig job_config_from(const Json& document);

}  // namespace scavenger
