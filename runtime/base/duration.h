// Times that people write.
#pragma once

#include <string>

namespace scavenger {

// "90s", "45m", "3h", "2d", or seconds without a unit. Throws InputError with `where` for what is
// no positive duration.
double parse_duration(const std::string& text, const std::string& where);

}  // namespace scavenger
