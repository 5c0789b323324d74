// Error messages about JSON documents for users; those of the JSON library name its own functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace scavenger {

// Returns, for instance, "it lacks the key \"config\"" or "it is not JSON from byte 17 on".
std::string describe(const nlohmann::json::exception& error);

}  // namespace scavenger
