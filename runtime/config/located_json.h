// JSON text to a document that knows on which line each of its values stands.
#pragma once

#include <string>

#include "runtime/config/value_places.h"

namespace scavenger {

struct LocatedJson {
  Json document;
  ValuePlaces places;
};

// `name` names the text in errors. Throws ConfigError where the text is not JSON, or an object has
// a key twice. Pure.
LocatedJson parse_located_json(const std::string& text, const std::string& name);

}  // namespace scavenger
