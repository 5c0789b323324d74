// Converts the fields of JobConfig from and to JSON values (to_json() is in config_file.h). Pure;
// checks nothing.
#pragma once

#include "runtime/config/job_config.h"
#include "runtime/schema/json.h"

namespace scavenger {

// Requires that `document` satisfies the schema and that apply_schema() has completed it. Paths are
// not changed.
JobConfig job_config_from(const Json& document);

}  // namespace scavenger
