// Describes in words the value in a document, and what its schema expects there. Pure.
#pragma once

#include <string>

#include "runtime/schema/json.h"

namespace scavenger {

// Returns whether `value` has a type of `type`, the value of a schema's keyword "type": one name or
// a list of names. 3.0 is an integer (JSON Schema, draft-07, 6.1.1).
bool has_type(const Json& value, const Json& type);

// Returns, for instance, "the number 12", "the text "abc"", "a list" or "null".
std::string describe_value(const Json& value);

// Returns, for instance, "an integer from 1 to 1024" or ""auto" or an integer from 1 to 256".
std::string describe_expectation(const Json& schema);

// Returns, for instance, ""sgd", "adam" or "adamw"".
std::string list_values(const Json& values);

}  // namespace scavenger
