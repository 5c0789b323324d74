// Words for what stands in a document and for what its schema expects there. Pure.
#pragma once

#include <string>

#include "runtime/config/json.h"

namespace scavenger {

// Whether `value` is of `type`, the value of a schema's "type": one name or a list of them. 3.0 is
// an integer (JSON Schema, draft-07, 6.1.1).
bool has_type(const Json& value, const Json& type);

// "the number 12", "the text "abc"", "a list", "null".
std::string describe_value(const Json& value);

// "an integer from 1 to 1024", "a number above 0", ""auto" or an integer from 1 to 256".
std::string describe_expectation(const Json& schema);

// ""sgd", "adam" or "adamw"".
std::string list_values(const Json& values);

}  // namespace scavenger
