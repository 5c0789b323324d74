// The JSON types of this library. Objects keep the order of their keys, so that errors are reported
// in the order of the document and printed documents are easy to read.
#pragma once

#include <nlohmann/json.hpp>

namespace scavenger {

using Json = nlohmann::ordered_json;
using JsonPointer = Json::json_pointer;

}  // namespace scavenger
