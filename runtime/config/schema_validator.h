// A validator for the part of JSON Schema (draft-07) that configs/scavenger.schema.json uses, with
// errors for people: what is expected, and the nearest known word.
//
// Keywords: $ref to #/definitions, type, const, enum, minimum, maximum, exclusiveMinimum,
// exclusiveMaximum, multipleOf, minLength, maxLength,
// pattern (with patternErrorMessage, as editors know it), items, minItems, maxItems,
// properties, required, additionalProperties: false, default, and oneOf. The alternatives of a
// oneOf differ either in one property with a const, the tag, or in their JSON type; the value's tag
// or type selects the only one that is looked at. Pure.
#pragma once

#include <vector>

#include "runtime/config/violation.h"

namespace scavenger {

// All faults of `document`. Also completes it: keys that are missing and have a default get it, and
// whole numbers written as floating point ("1e6") become integers where the schema wants one.
std::vector<Violation> apply_schema(const Json& schema, Json& document);

}  // namespace scavenger
