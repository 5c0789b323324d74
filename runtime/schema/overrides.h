// Applies changes from the command line to a configuration document. Pure.
#pragma once

#include <span>
#include <string>

#include "runtime/schema/located_json.h"

namespace scavenger {

// Applies "a.b=c" strings in order, and records them as the places of their values. Throws
// ConfigError if a string has another form, or if its path leads nowhere. The schema is checked
// later.
void apply_overrides(std::span<const std::string> overrides, LocatedJson& config);

}  // namespace scavenger
