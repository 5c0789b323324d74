// A validator for the part of JSON Schema (draft-07) that configs/scavenger.schema.json uses, with
// errors for users: each says what is expected, and names the nearest known word.
//
// Keywords: $ref to #/definitions, type, const, enum, minimum, maximum, exclusiveMinimum,
// exclusiveMaximum, multipleOf, minLength, maxLength, pattern (with patternErrorMessage, which
// editors also use), items, minItems, maxItems, properties, required, additionalProperties: false,
// default, and oneOf. The alternatives of a oneOf differ either in one property with a const, the
// tag, or in their JSON type; the value's tag or type selects the one that is checked. Pure.
#pragma once

#include <vector>

#include "runtime/schema/violation.h"

namespace scavenger {

// Returns all faults of `document`. Also completes the document: missing keys get their default,
// and whole numbers written as floating point ("1e6") become integers if the schema expects an
// integer.
std::vector<Violation> apply_schema(const Json& schema, Json& document);

}  // namespace scavenger
