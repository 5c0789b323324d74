// Text in HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace scavenger {

// Returns `text` with the five characters that HTML gives a meaning to (<, >, &, " and ') escaped,
// so that it can stand between tags and in an attribute's value.
std::string escaped_html(std::string_view text);

}  // namespace scavenger
