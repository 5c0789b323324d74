// Returns the text of configs/scavenger.schema.json at the time when this library was built.
#pragma once

namespace scavenger {

const char* schema_text();

}  // namespace scavenger
