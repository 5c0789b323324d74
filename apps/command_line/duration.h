// Durations as people write them.
#pragma once

#include <string>

namespace scavenger {

// Returns the seconds of "90s", "45m", "3h", "2d", or of a number of seconds without a unit. Throws
// InputError with the place `where` if `text` is not a positive duration.
double parse_duration(const std::string& text, const std::string& where);

}  // namespace scavenger
