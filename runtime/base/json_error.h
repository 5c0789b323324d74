// What was wrong with a JSON document, in words for people: the library's own name its functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace scavenger {

// "it lacks the key \"config\"", "it is not JSON from byte 17 on".
std::string describe(const nlohmann::json::exception& error);

}  // namespace scavenger
