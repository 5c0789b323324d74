// Parses JSON text and records the line of each value.
#pragma once

#include <string>

#include "runtime/schema/value_places.h"

namespace scavenger {

struct LocatedJson {
  Json document;
  ValuePlaces places;
};

// `name` names the text in errors. Throws ConfigError if the text is not JSON, or if an object has
// a key twice. Pure.
LocatedJson parse_located_json(const std::string& text, const std::string& name);

}  // namespace scavenger
