// Matches names against patterns as in a shell: "*" stands for any number of any characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scavenger {

bool fits_pattern(std::string_view name, std::string_view pattern);
bool fits_any(std::string_view name, const std::vector<std::string>& patterns);

}  // namespace scavenger
