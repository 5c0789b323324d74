// JSON of which nothing is known yet: what servers answer, and what stands in a key's file.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace scavenger::gcp {

// Nothing if the text is no JSON object, or nests deeper than any that we know: a copy of it
// would go as deep on the stack.
std::optional<nlohmann::json> parse_object(const std::string& text);

// A field of an object that is text; "" if it is not there, or is something else.
std::string text_in(const nlohmann::json& object, const char* key);

}  // namespace scavenger::gcp
