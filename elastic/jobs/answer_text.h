// What a running job answers to a command, in words for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace scavenger::elastic {

// `answer`: as ask_job() returns it for "status", "resize", "checkpoint", "pause", "continue" or
// "stop".
std::string answer_text(const std::string& command, const nlohmann::json& answer);

}  // namespace scavenger::elastic
