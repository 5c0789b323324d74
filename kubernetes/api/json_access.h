// Fields of JSON of which nothing is known yet: what an API server answers.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace scavenger::kubernetes {

using json = nlohmann::json;

// Returns nothing if the text is no JSON object, or if it nests deeper than any that we know.
std::optional<json> parse_object(std::string_view text);

// Returns the value at this path of keys; null if it is not there.
const json& value_at(const json& object, std::initializer_list<const char*> path);
// Returns "" if the value is not there, or is no text.
std::string text_at(const json& object, std::initializer_list<const char*> path);
// Returns `otherwise` if the value is not there, or is no number.
double number_at(const json& object, std::initializer_list<const char*> path,
                 double otherwise = 0.0);
// Returns an empty array if the value is not there, or is no array.
const json& array_at(const json& object, std::initializer_list<const char*> path);

}  // namespace scavenger::kubernetes
