// Changes to a configuration document from the command line. Pure.
#pragma once

#include <span>
#include <string>

#include "runtime/config/located_json.h"

namespace scavenger {

// Applies "a.b=c" strings in order, and notes them as the places of their values. Throws
// ConfigError for what is no such string, and for a path that leads nowhere; whether the new
// document fits the schema is seen later.
void apply_overrides(std::span<const std::string> overrides, LocatedJson& config);

}  // namespace scavenger
