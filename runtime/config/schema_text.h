// configs/scavenger.schema.json as it was when this library was built.
#pragma once

namespace scavenger {

const char* schema_text();

}  // namespace scavenger
