// The JSON types of this library. Objects keep the order of their keys, so that the first fault of
// a document is the first that its reader meets, and printed documents read well.
#pragma once

#include <nlohmann/json.hpp>

namespace scavenger {

using Json = nlohmann::ordered_json;
using JsonPointer = Json::json_pointer;

}  // namespace scavenger
